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

}  // namespace jobscope
