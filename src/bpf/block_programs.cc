#include "src/bpf/block_programs.h"

#include <cstring>

#include "bpf/request.h"

namespace jobscope {

// Without it, the last requests whose end was not told are missing.
void BlockPrograms::attach_settle(const bpf_program* program) {
  BpfLog log;
  bpf_iter_link_info which{};
  which.map.map_fd = static_cast<uint32_t>(open_requests_);
  LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &which, .link_info_len = sizeof(which));
  settle_.reset(bpf_program__attach_iter(program, &options));
}

void BlockPrograms::settle() const {
  if (!settle_) return;
  const Fd walk(bpf_iter_create(bpf_link__fd(settle_.get())));
  char nothing = 0;
  while (walk && ::read(walk.get(), &nothing, 1) < 0 && (errno == EAGAIN || errno == EINTR)) {
  }
  bpf_map_info info{};
  uint32_t size = sizeof(info);
  if (bpf_obj_get_info_by_fd(open_requests_, &info, &size) != 0) return;
  std::vector<char> value(info.value_size);  // of a struct that only the object knows whole
  std::vector<uint64_t> settled;
  uint64_t id = 0;
  const void* from = nullptr;
  while (bpf_map_get_next_key(open_requests_, from, &id) == 0) {
    from = &id;
    if (bpf_map_lookup_elem(open_requests_, &id, value.data()) != 0) continue;
    request_head head{};
    std::memcpy(&head, value.data(), sizeof(head));
    if (head.settled) settled.push_back(id);
  }
  for (const uint64_t done : settled) bpf_map_delete_elem(open_requests_, &done);
}

void BlockPrograms::optional(bpf_program* program, bool exists, const std::string& lack) {
  Result<Link> link = exists ? jobscope::attach(program) : fail("no such tracepoint");
  if (link) {
    links_.push_back(std::move(*link));
    return;
  }
  if (!degraded_.empty()) degraded_ += "; ";
  degraded_ += lack + " (" + link.error().what + ")";
}

}  // namespace jobscope
