#include "src/trace/uprobe_spec.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "src/base/text.h"
#include "src/trace/figures.h"

namespace jobscope {
namespace {

using Type = UprobeArgument::Type;
constexpr std::array<std::pair<std::string_view, Type>, 11> kTypes{{{"u8", Type::u8},
                                                                    {"u16", Type::u16},
                                                                    {"u32", Type::u32},
                                                                    {"u64", Type::u64},
                                                                    {"i8", Type::i8},
                                                                    {"i16", Type::i16},
                                                                    {"i32", Type::i32},
                                                                    {"i64", Type::i64},
                                                                    {"ptr", Type::ptr},
                                                                    {"hex", Type::hex},
                                                                    {"str", Type::str}}};
constexpr const char* kForm = "write it as 'uprobe:LIB:SYMBOL(size: u64, name: str)'";

#if defined(__aarch64__)
constexpr size_t kRegisters = 8;
constexpr uint16_t kFirstOnStack = 0;
#else
constexpr size_t kRegisters = 6;
constexpr uint16_t kFirstOnStack = 8;  // above the return address
#endif

bool is_name(const std::string& text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

Result<UprobeArgument> parse_argument(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string name(trimmed(std::string_view(text).substr(0, colon)));
  const std::string type(
      colon == std::string::npos ? "" : trimmed(std::string_view(text).substr(colon + 1)));
  if (!is_name(name) || type.empty()) return fail("'" + text + "' is no argument", kForm);
  for (const auto& [known, value] : kTypes)
    if (type == known) return UprobeArgument{name, value};
  return fail("there is no type '" + type + "'",
              "types are u8 u16 u32 u64 i8 i16 i32 i64 ptr hex str");
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// "libc.so.6" is wanted as "libc.so.6", "libc.so", "libc" and "c".
bool is_called(const std::string& file, const std::string& wanted) {
  if (file == wanted) return true;
  return file.starts_with(wanted + ".so") || file.starts_with("lib" + wanted + ".so") ||
         (wanted.ends_with(".so") && file.starts_with(wanted + "."));
}

// The path of a library that a process has mapped, as it is seen from here.
std::string mapped_library(const std::string& proc, const std::string& pid,
                           const std::string& wanted) {
  std::ifstream maps(proc + "/" + pid + "/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t at = line.find('/');
    if (at == std::string::npos) continue;
    const std::string path = line.substr(at);
    if (!is_called(last_part(path), wanted)) continue;
    std::error_code error;
    const std::string there = proc + "/" + pid + "/root" + path;
    // In our own root, by the path that stays when the process ends.
    if (std::filesystem::equivalent(path, there, error)) return path;
    if (std::filesystem::exists(there, error)) return there;
  }
  return {};
}

uint32_t word_at(const std::string& bytes, size_t at) {
  uint32_t word = 0;
  if (at + sizeof(word) <= bytes.size()) std::memcpy(&word, bytes.data() + at, sizeof(word));
  return word;
}

}  // namespace

Result<UprobeSpec> parse_uprobe(const std::string& text) {
  UprobeSpec spec;
  std::string rest;
  if (text.starts_with("uprobe:")) {
    rest = text.substr(7);
  } else if (text.starts_with("uretprobe:")) {
    spec.at_return = true;
    rest = text.substr(10);
  } else {
    return fail("'" + text + "' is no uprobe", kForm);
  }
  std::string arguments;
  if (const size_t open = rest.find('('); open != std::string::npos) {
    if (rest.back() != ')') return fail("'" + text + "' has no ')' at its end", kForm);
    arguments = rest.substr(open + 1, rest.size() - open - 2);
    rest.erase(open);
  }
  const size_t colon = rest.rfind(':');
  if (colon == std::string::npos) return fail("'" + text + "' names no function", kForm);
  spec.library = trimmed(rest.substr(0, colon));
  spec.symbol = trimmed(rest.substr(colon + 1));
  if (spec.library.empty() || spec.symbol.empty())
    return fail("'" + text + "' names no function", kForm);
  std::stringstream list(arguments);
  for (std::string one; std::getline(list, one, ',');) {
    const UprobeArgument argument = TRY(parse_argument(std::string(trimmed(one))));
    if (std::ranges::find(spec.arguments, argument.name, &UprobeArgument::name) !=
        spec.arguments.end())
      return fail("there are two arguments '" + argument.name + "'");
    spec.arguments.push_back(argument);
  }
  if (spec.at_return && spec.arguments.size() > 1)
    return fail("a function returns one value", "uretprobe:LIB:SYMBOL(retval: i64)");
  if (spec.arguments.size() > UPROBE_ARGUMENTS)
    return fail(fmt::format("at most {} arguments can be shown", UPROBE_ARGUMENTS));
  if (std::ranges::count(spec.arguments, Type::str, &UprobeArgument::type) > UPROBE_TEXTS)
    return fail(fmt::format("at most {} strings can be shown", UPROBE_TEXTS));
  return spec;
}

std::vector<uprobe_argument> places_of(const UprobeSpec& spec) {
  std::vector<uprobe_argument> places;
  uint8_t texts = 0;
  for (size_t i = 0; i < spec.arguments.size(); ++i) {
    uprobe_argument place{};
    if (spec.at_return) {
      place.place = UPROBE_RETURN;
    } else if (i < kRegisters) {
      place.place = UPROBE_REGISTER;
      place.index = static_cast<uint16_t>(i);
    } else {
      place.place = UPROBE_STACK;
      place.index = static_cast<uint16_t>(kFirstOnStack + 8 * (i - kRegisters));
    }
    if (spec.arguments[i].type == Type::str) place.text = ++texts;
    places.push_back(place);
  }
  return places;
}

std::string argument_text(Type type, uint64_t value) {
  switch (type) {
    case Type::u8: return std::to_string(static_cast<uint8_t>(value));
    case Type::u16: return std::to_string(static_cast<uint16_t>(value));
    case Type::u32: return std::to_string(static_cast<uint32_t>(value));
    case Type::i8: return std::to_string(static_cast<int8_t>(value));
    case Type::i16: return std::to_string(static_cast<int16_t>(value));
    case Type::i32: return std::to_string(static_cast<int32_t>(value));
    case Type::i64: return std::to_string(static_cast<int64_t>(value));
    case Type::ptr:
    case Type::hex: return fmt::format("{:#x}", value);
    default: return std::to_string(value);
  }
}

// glibc's sysdeps/generic/dl-cache.h: struct cache_file_new; offsets are from its start.
std::vector<std::pair<std::string, std::string>> read_loader_cache(const std::string& bytes) {
  constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
  constexpr size_t kHeader = 48, kEntry = 24;
  std::vector<std::pair<std::string, std::string>> libraries;
  const size_t start = bytes.find(kMagic);
  if (start == std::string::npos) return libraries;
  const std::string cache = bytes.substr(start);
  const uint32_t count = word_at(cache, kMagic.size());
  for (uint32_t i = 0; i < count; ++i) {
    const size_t entry = kHeader + size_t{i} * kEntry;
    if (entry + kEntry > cache.size()) break;
    const uint32_t name = word_at(cache, entry + 4), path = word_at(cache, entry + 8);
    if (name >= cache.size() || path >= cache.size()) continue;
    libraries.emplace_back(cache.c_str() + name, cache.c_str() + path);
  }
  return libraries;
}

Result<std::string> find_library(const std::string& library, const std::vector<uint32_t>& pids,
                                 const LibrarySources& sources) {
  if (library.find('/') != std::string::npos) {
    if (::access(library.c_str(), R_OK) != 0) return fail_errno("cannot read " + library);
    return library;
  }
  for (const uint32_t pid : pids) {
    std::string path = mapped_library(sources.proc, std::to_string(pid), library);
    if (!path.empty()) return path;
  }
  const auto known = read_loader_cache(read_file(sources.cache));
  std::vector<std::string> names;
  for (const auto& [name, path] : known) {
    if (is_called(name, library)) return path;
    names.push_back(name);
  }
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(sources.proc, error)) {
    const std::string pid = entry.path().filename();
    if (!std::isdigit(static_cast<unsigned char>(pid[0]))) continue;
    std::string path = mapped_library(sources.proc, pid, library);
    if (!path.empty()) return path;
  }
  const auto near = nearest_names(library, names);
  return fail("there is no library '" + library + "' on this machine, and no process has one",
              near.empty() ? "name it by its path"
                           : fmt::format("did you mean {}?", fmt::join(near, ", ")));
}

}  // namespace jobscope
