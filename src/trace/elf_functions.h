// Functions of an ELF file: by name, by place, and all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/result.h"

namespace jobscope {

struct ElfFunction {
  uint64_t offset = 0;  // in the file: where uprobes go
  uint64_t size = 0;
  std::string name;
  bool chosen_at_run_time = false;  // an IFUNC: the symbol is not the function but what chooses it
};

class ElfFunctions {
 public:
  // Of .symtab and .dynsym. An error if it is no ELF file.
  static Result<ElfFunctions> read(const std::string& path);
  // Of a mapped file: nullptr if there is none of that name.
  const ElfFunction* find(const std::string& name) const;
  // The function that covers a place in the file.
  const ElfFunction* at(uint64_t offset) const;
  std::vector<std::string> names() const;

 private:
  std::vector<ElfFunction> functions_;  // by offset
};

}  // namespace jobscope
