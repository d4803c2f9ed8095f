#include "src/programs/sections.h"

#include <fmt/format.h>
#include <gelf.h>
#include <libelf.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>

#include "src/base/text.h"

namespace jobscope {
namespace {

constexpr char kBar = '|';

struct EndElf {
  void operator()(Elf* elf) const { elf_end(elf); }
};
using ElfFile = std::unique_ptr<Elf, EndElf>;

// Reads `object`, which must outlive it and is not changed.
Result<ElfFile> open_object(std::string_view object) {
  constexpr const char* kHint =
      "compile it with clang -g -O2 -target bpf -c NAME.bpf.c -o NAME.bpf.o";
  elf_version(EV_CURRENT);
  ElfFile elf(elf_memory(const_cast<char*>(object.data()), object.size()));
  GElf_Ehdr header;
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF || !gelf_getehdr(elf.get(), &header))
    return fail("it is no ELF file", kHint);
  if (header.e_machine != EM_BPF) return fail("it is no object of eBPF programs", kHint);
  return elf;
}

// Calls f(name, where the name lies in the file) for each section; f returns whether to go on.
template <class F>
Result<> for_each_name(std::string_view object, F f) {
  const ElfFile elf = TRY(open_object(object));
  size_t strings = 0;
  GElf_Shdr table;
  if (elf_getshdrstrndx(elf.get(), &strings) != 0 ||
      !gelf_getshdr(elf_getscn(elf.get(), strings), &table))
    return fail("the object has no names of sections: it is damaged");
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section));) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header)) continue;
    const char* name = elf_strptr(elf.get(), strings, header.sh_name);
    const uint64_t offset = table.sh_offset + header.sh_name;
    if (!name || offset + std::strlen(name) >= object.size()) continue;
    if (!f(std::string_view(name), static_cast<size_t>(offset))) break;
  }
  return {};
}

}  // namespace

std::vector<std::string> section_alternatives(std::string_view section) {
  std::vector<std::string> found;
  for (;;) {
    const size_t bar = section.find(kBar);
    const std::string_view one = trimmed(section.substr(0, bar));
    if (!one.empty()) found.emplace_back(one);
    if (bar == std::string_view::npos) return found;
    section.remove_prefix(bar + 1);
  }
}

Result<std::vector<std::string>> sections_with_alternatives(std::string_view object) {
  std::vector<std::string> found;
  TRY(for_each_name(object, [&](std::string_view name, size_t) {
    if (name.find(kBar) != std::string_view::npos && !name.starts_with(".rel"))
      found.emplace_back(name);
    return true;
  }));
  return found;
}

// The name of a section of relocations ends in that of its section, and may lie around it in the
// table: both are renamed at once, or one after the other.
Result<> rename_section(std::string& object, std::string_view from, std::string_view to) {
  if (to.size() > from.size()) return fail("a longer name for a section");
  std::vector<size_t> places;
  const std::string relocations = ".rel" + std::string(from);
  TRY(for_each_name(object, [&](std::string_view name, size_t offset) {
    if (name == from) places.push_back(offset);
    if (name == relocations) places.push_back(offset + 4);
    return true;
  }));
  for (const size_t place : places) {
    std::copy(to.begin(), to.end(), object.begin() + static_cast<std::ptrdiff_t>(place));
    object[place + to.size()] = '\0';
  }
  return {};
}

BinarySection binary_section(std::string_view section) {
  const size_t slash = section.find('/');
  if (slash == std::string_view::npos) return {};
  const std::string_view kind = section.substr(0, slash);
  if (kind != "uprobe" && kind != "uretprobe" && kind != "uprobe.s" && kind != "uretprobe.s" &&
      kind != "usdt")
    return {};
  const std::string_view target = section.substr(slash + 1);
  const size_t colon = target.find(':');
  if (colon == std::string_view::npos) return {};
  return {std::string(kind), std::string(target.substr(0, colon)),
          std::string(target.substr(colon + 1))};
}

Result<PerfEventSection> perf_event_section(std::string_view section) {
  PerfEventSection event;
  std::string_view list = section.substr(std::min(section.find('/') + 1, section.size()));
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    list.remove_prefix(std::min(item.size() + 1, list.size()));
    const size_t equals = item.find('=');
    const std::string_view name = item.substr(0, equals);
    uint64_t value = 0;
    const char* end = item.data() + item.size();
    const char* from = equals == std::string_view::npos ? end : item.data() + equals + 1;
    const auto [after, error] = std::from_chars(from, end, value);
    if (error != std::errc() || after != end)
      return fail(fmt::format("'{}' of section '{}' is not NAME=NUMBER", item, section));
    if (name == "type")
      event.type = static_cast<uint32_t>(value);
    else if (name == "config")
      event.config = value;
    else if (name == "frequency")
      event.frequency = value;
    else if (name == "period")
      event.period = value;
    else
      return fail(fmt::format("section '{}' has '{}'", section, name),
                  "it takes type, config, frequency, period");
  }
  if (event.frequency == 0 && event.period == 0)
    return fail(fmt::format("section '{}' has no frequency (Hz)", section));
  return event;
}

}  // namespace jobscope
