#include "src/bpf/kernel_btf.h"

#include <cstdlib>
#include <memory>
#include <string>

namespace jobscope {

const btf* kernel_btf() {
  struct FreeBtf {
    void operator()(btf* b) const { btf__free(b); }
  };
  static const std::unique_ptr<btf, FreeBtf> kTypes(btf__load_vmlinux_btf());
  return kTypes.get();
}

bool is_masked(std::string_view feature) {
  const char* list = std::getenv("JOBSCOPE_WITHOUT");
  if (!list) return false;
  const std::string with_commas = "," + std::string(list) + ",";
  return with_commas.find("," + std::string(feature) + ",") != std::string::npos;
}

bool has_function(const char* name) {
  return !is_masked(name) && kernel_btf() &&
         btf__find_by_name_kind(kernel_btf(), name, BTF_KIND_FUNC) > 0;
}

}  // namespace jobscope
