// Symbols of ELF files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace jobscope {

struct Symbol {
  uint64_t address = 0;  // where it lies when the file's first byte lies at 0: see find_symbol
  uint64_t size = 0;
};

// Looks a symbol up in .dynsym and .symtab. The address is relative to the place of the file's
// offset 0 in memory (mapping start - mapping offset), so that position-dependent programs work
// too. Empty if the file cannot be read or has no such symbol.
std::optional<Symbol> find_symbol(const std::string& path, const std::string& name);

}  // namespace jobscope
