// What libbpf and the verifier say while a call of theirs runs.
#pragma once

#include <string>
#include <vector>

#include "src/base/result.h"

namespace jobscope {

// While it lives, libbpf's messages of this process go into it instead of to stderr (with
// JOBSCOPE_DEBUG=bpf in the environment, to stderr as well). They nest; the innermost gets it.
class BpfLog {
 public:
  BpfLog();
  ~BpfLog();
  BpfLog(const BpfLog&) = delete;
  BpfLog& operator=(const BpfLog&) = delete;

  // The failure of `what` with errno `code`, and why, as far as the messages tell:
  // "loading BPF programs: the kernel lacks struct request.state (on_issue)".
  tl::unexpected<Error> failure(const std::string& what, int code) const;
  // The program that could not be loaded; "" if the messages name none.
  std::string failed_program() const;

 private:
  std::vector<std::string> messages_;
  std::vector<std::string>* before_;
};

}  // namespace jobscope
