// What the objects of traces have in common: their ring, what they lost, and which of the maps that
// the shared headers declare they do without.
#pragma once

#include <bpf/libbpf.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "src/base/result.h"
#include "src/bpf/skeleton.h"

namespace jobscope {

// Between open and load: `ring_bytes` is rounded up to what the kernel takes.
void prepare_trace_object(bpf_object* object, uint64_t ring_bytes);

// The reader of an object's ring `events`.
class TraceRing {
 public:
  using Take = std::function<void(const void* data, size_t size)>;
  // After the load.
  static Result<std::unique_ptr<TraceRing>> open(const bpf_object* object, Take take);
  int fd() const;
  // Hands on all that is there, at most `most` records (0: no bound).
  void drain();

 private:
  explicit TraceRing(Take take) : take_(std::move(take)) {}
  struct Free {
    void operator()(ring_buffer* ring) const { ring_buffer__free(ring); }
  };
  Take take_;
  std::unique_ptr<ring_buffer, Free> ring_;
};

// What an object lost so far, by what it is: "events" (the ring was full), "block requests" …, and
// "runs of BPF programs" that the kernel left out. Only what is not 0.
std::map<std::string, uint64_t> trace_losses(const bpf_object* object);

}  // namespace jobscope
