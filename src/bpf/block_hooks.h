// Which hooks of the block layer the running kernel has.
#pragma once

#include <bpf/btf.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace jobscope {

struct BlockHooks {
  bool start = false;  // block_io_start, in the task that makes the request
  bool getrq = false;  // block_getrq: the nearest where that does not exist
  bool issue = false, complete = false, merge = false;
  // These pass the request's queue first.
  bool getrq_of_queue = false, issue_of_queue = false, merge_of_queue = false;
};

// `arguments` tells a tracepoint's, as tracepoint_arguments() of src/bpf/prototype.h does.
using TracepointArguments =
    std::function<std::optional<std::vector<std::string>>(const std::string& name)>;
BlockHooks find_block_hooks(const TracepointArguments& arguments);

// RQF_FLUSH_SEQ of a request's flags.
uint32_t flush_sequence_flag(const btf* kernel);

}  // namespace jobscope
