#include "src/trace/elf_functions.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>

#include "src/base/fd.h"

namespace jobscope {
namespace {

struct EndElf {
  void operator()(Elf* elf) const { elf_end(elf); }
};

std::vector<GElf_Phdr> code_segments(Elf* elf) {
  std::vector<GElf_Phdr> segments;
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return segments;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) && header.p_type == PT_LOAD &&
        header.p_flags & PF_X)
      segments.push_back(header);
  }
  return segments;
}

std::optional<uint64_t> offset_of(const std::vector<GElf_Phdr>& segments, uint64_t address) {
  for (const GElf_Phdr& s : segments)
    if (address >= s.p_vaddr && address < s.p_vaddr + s.p_filesz)
      return address - s.p_vaddr + s.p_offset;
  return std::nullopt;
}

}  // namespace

Result<ElfFunctions> ElfFunctions::read(const std::string& path) {
  // The path may be one that a watched process chose: a FIFO would hold us up.
  struct stat what {};
  if (::stat(path.c_str(), &what) != 0) return fail_errno("cannot read " + path);
  if (!S_ISREG(what.st_mode)) return fail(path + " is not a file");
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file) return fail_errno("cannot read " + path);
  if (elf_version(EV_CURRENT) == EV_NONE) return fail("libelf is too old");
  // Not mapped: the file may be cut short meanwhile, and reading beyond its end would kill us.
  const std::unique_ptr<Elf, EndElf> elf(elf_begin(file.get(), ELF_C_READ, nullptr));
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF)
    return fail(path + " is no program and no library (not an ELF file)");
  const auto segments = code_segments(elf.get());
  ElfFunctions result;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf.get(), section))) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header) || header.sh_entsize == 0) continue;
    if (header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB) continue;
    Elf_Data* data = elf_getdata(section, nullptr);
    const auto count = data ? static_cast<int>(data->d_size / header.sh_entsize) : 0;
    for (int i = 0; i < count; ++i) {
      GElf_Sym symbol;
      if (!gelf_getsym(data, i, &symbol) || symbol.st_shndx == SHN_UNDEF) continue;
      const auto type = GELF_ST_TYPE(symbol.st_info);
      if (type != STT_FUNC && type != STT_GNU_IFUNC) continue;
      const char* name = elf_strptr(elf.get(), header.sh_link, symbol.st_name);
      const auto offset = offset_of(segments, symbol.st_value);
      if (!name || !*name || !offset) continue;
      result.functions_.push_back({*offset, symbol.st_size, name, type == STT_GNU_IFUNC});
    }
  }
  std::ranges::stable_sort(result.functions_, {}, &ElfFunction::offset);
  return result;
}

const ElfFunction* ElfFunctions::find(const std::string& name) const {
  const auto found = std::ranges::find(functions_, name, &ElfFunction::name);
  return found == functions_.end() ? nullptr : &*found;
}

const ElfFunction* ElfFunctions::at(uint64_t offset) const {
  auto after = std::ranges::upper_bound(functions_, offset, {}, &ElfFunction::offset);
  if (after == functions_.begin()) return nullptr;
  const ElfFunction& before = *std::prev(after);
  return offset - before.offset < std::max<uint64_t>(before.size, 1) ? &before : nullptr;
}

std::vector<std::string> ElfFunctions::names() const {
  std::vector<std::string> names;
  for (const ElfFunction& function : functions_) names.push_back(function.name);
  return names;
}

}  // namespace jobscope
