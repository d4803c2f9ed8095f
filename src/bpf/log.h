// What libbpf and the verifier say while a call of theirs runs.
#pragma once

#include <string>
#include <vector>

namespace jobscope {

// While it lives, libbpf's messages of this process go into it instead of to stderr (with
// JOBSCOPE_DEBUG=bpf in the environment, to stderr as well). They nest; the innermost gets it.
class BpfLog {
 public:
  BpfLog();
  ~BpfLog();
  BpfLog(const BpfLog&) = delete;
  BpfLog& operator=(const BpfLog&) = delete;

  // The first warning, without its "libbpf: ", or "".
  std::string first() const;

 private:
  std::vector<std::string> lines_;
  std::vector<std::string>* before_;
};

}  // namespace jobscope
