#include "src/bpf/symbols.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>

#include <cstring>
#include <memory>

#include "src/base/fd.h"

namespace jobscope {
namespace {

struct EndElf {
  void operator()(Elf* elf) const { elf_end(elf); }
};

// The path is one that a watched process chose: a FIFO would hold us up, and to open a device may
// be to use it.
Fd open_regular(const std::string& path) {
  const Fd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat what {};
  if (!place || ::fstat(place.get(), &what) != 0 || !S_ISREG(what.st_mode)) return {};
  const std::string same = "/proc/self/fd/" + std::to_string(place.get());
  return Fd(::open(same.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
}

// Virtual address at which offset 0 of the file is to be: of the first segment.
std::optional<uint64_t> base_address(Elf* elf) {
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return std::nullopt;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf, static_cast<int>(i), &header) && header.p_type == PT_LOAD)
      return header.p_vaddr - header.p_offset;
  }
  return std::nullopt;
}

std::optional<GElf_Sym> find_in(Elf* elf, Elf_Scn* section, const GElf_Shdr& header,
                                const std::string& name) {
  Elf_Data* data = elf_getdata(section, nullptr);
  if (!data || header.sh_entsize == 0) return std::nullopt;
  const auto count = static_cast<int>(header.sh_size / header.sh_entsize);
  for (int i = 0; i < count; ++i) {
    GElf_Sym symbol;
    if (!gelf_getsym(data, i, &symbol) || symbol.st_shndx == SHN_UNDEF) continue;
    const char* text = elf_strptr(elf, header.sh_link, symbol.st_name);
    if (text && name == text) return symbol;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Symbol> find_symbol(const std::string& path, const std::string& name) {
  if (elf_version(EV_CURRENT) == EV_NONE) return std::nullopt;
  const Fd file = open_regular(path);
  if (!file) return std::nullopt;
  // Not mapped: the file may be cut short meanwhile, and reading beyond its end would kill us.
  const std::unique_ptr<Elf, EndElf> elf(elf_begin(file.get(), ELF_C_READ, nullptr));
  if (!elf) return std::nullopt;
  const auto base = base_address(elf.get());
  if (!base) return std::nullopt;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf.get(), section))) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header)) continue;
    if (header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB) continue;
    if (const auto symbol = find_in(elf.get(), section, header, name))
      return Symbol{symbol->st_value - *base, symbol->st_size};
  }
  return std::nullopt;
}

}  // namespace jobscope
