#include "src/programs/machine_sources.h"

#include <fmt/format.h>
#include <net/if.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

namespace jobscope {
namespace {

constexpr uint32_t kNoId = ~0u;

// The hexadecimal number that the text begins with, if it has `digits` of them and then blanks.
std::optional<uint32_t> leading_hex(std::string_view text, size_t digits) {
  uint32_t number = 0;
  if (text.size() < digits) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, number, 16);
  if (error != std::errc() || end != text.data() + digits) return std::nullopt;
  return text.substr(digits).starts_with("  ") ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string MachineSources::interface_name(uint32_t index) const {
  char name[IF_NAMESIZE] = {};
  return ::if_indextoname(index, name) ? name : "";
}

std::string MachineSources::block_device(uint32_t major, uint32_t minor) const {
  std::error_code error;
  const auto target = std::filesystem::read_symlink(
      fmt::format("{}/dev/block/{}:{}", places_.sys, major, minor), error);
  if (!error) return target.filename().string();
  // That folder is hidden from containers.
  std::ifstream partitions(places_.proc + "/partitions");
  std::string line;
  while (std::getline(partitions, line)) {
    std::istringstream words(line);
    uint32_t its_major = 0, its_minor = 0;
    uint64_t blocks = 0;
    std::string name;
    if (words >> its_major >> its_minor >> blocks >> name && its_major == major &&
        its_minor == minor)
      return name;
  }
  return "";
}

void MachineSources::learn_symbols() const {
  std::call_once(symbols_read_, [this] { read_symbols(); });
}

std::string MachineSources::kernel_symbol(uint64_t address) const {
  learn_symbols();
  const auto after = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                                      [](uint64_t a, const auto& s) { return a < s.first; });
  return after == symbols_.begin() ? "" : std::prev(after)->second;
}

// "ffffffff81000000 T startup_64", of modules with "\t[module]" behind it.
void MachineSources::read_symbols() const {
  std::ifstream file(places_.proc + "/kallsyms");
  for (std::string line; std::getline(file, line);) {
    const size_t type = line.find(' ') + 1;
    if (type == 0 || type + 2 > line.size() || !std::strchr("tTwW", line[type])) continue;
    const uint64_t address = std::strtoull(line.c_str(), nullptr, 16);
    const size_t name = type + 2;
    if (address) symbols_.emplace_back(address, line.substr(name, line.find('\t', name) - name));
  }
  std::stable_sort(symbols_.begin(), symbols_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
}

std::string MachineSources::pci_name(std::string_view level, uint32_t id) const {
  std::call_once(pci_ids_read_, [this] { read_pci_ids(); });
  const auto found = pci_names_.find(std::pair(std::string(level), id));
  return found == pci_names_.end() ? "" : found->second;
}

// "10de  NVIDIA", "\t2335  H200", "C 03  Display", "\t02  3D"; ids of devices and subclasses carry
// those of what they are below.
void MachineSources::read_pci_ids() const {
  std::ifstream file(places_.pci_ids);
  enum { kNothing, kVendor, kClass } within = kNothing;
  uint32_t above = 0;  // the vendor or class that the lines set in are below
  for (std::string line; std::getline(file, line);) {
    std::string_view text = line;
    if (text.starts_with("\t\t") || text.starts_with('#') || text.empty()) continue;
    const bool below = text.starts_with('\t'), is_class = text.starts_with("C ");
    if (below && within == kNothing) continue;
    text.remove_prefix(below ? 1 : is_class ? 2 : 0);
    const size_t digits = is_class || (below && within == kClass) ? 2 : 4;
    const uint32_t id = leading_hex(text, digits).value_or(kNoId);
    if (!below) within = id == kNoId ? kNothing : is_class ? kClass : kVendor;
    if (id == kNoId) continue;
    if (!below) above = id;
    const char* level = within == kClass ? (below ? "subclass" : "class")
                        : below          ? "device"
                                         : "vendor";
    pci_names_.emplace(std::pair(level, below ? above << digits * 4 | id : id),
                       std::string(text.substr(digits + 2)));
  }
}

}  // namespace jobscope
