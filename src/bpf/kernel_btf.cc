#include "src/bpf/kernel_btf.h"

#include <memory>

namespace jobscope {

const btf* kernel_btf() {
  struct FreeBtf {
    void operator()(btf* b) const { btf__free(b); }
  };
  static const std::unique_ptr<btf, FreeBtf> kTypes(btf__load_vmlinux_btf());
  return kTypes.get();
}

bool has_function(const char* name) {
  return kernel_btf() && btf__find_by_name_kind(kernel_btf(), name, BTF_KIND_FUNC) > 0;
}

}  // namespace jobscope
