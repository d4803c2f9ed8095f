// What the tracers have in common, whatever their BPF object.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "src/trace/object.h"
#include "src/trace/tracer.h"

namespace jobscope {

// A record of the ring as its struct; nothing if it is too short.
template <class Record>
std::optional<Record> record_as(const void* data, size_t size) {
  if (size < sizeof(Record)) return std::nullopt;
  Record record{};
  std::memcpy(&record, data, sizeof(record));
  return record;
}

inline std::string text_of(const char* field, size_t size) {
  return {field, ::strnlen(field, size)};
}
template <size_t N>
std::string text_of(const char (&field)[N]) {
  return text_of(field, N);
}

// Begins the fields of an event: type, and who.
nlohmann::ordered_json begin_fields(const char* type, const trace_head& head);

template <class S>
class TracerOf : public Tracer {
 public:
  TracerOf(const TraceOptions& options, JobFinder& finder, bool name_jobs)
      : ring_bytes_(options.ring_bytes), followed_(options.filter, finder, name_jobs) {}

  Result<> start(Sink sink) override {
    sink_ = std::move(sink);
    TRY(skeleton_.open());
    prepare_trace_object(skeleton_->obj, ring_bytes_);
    followed_.prepare(skeleton_);
    TRY(prepare());
    SharedMaps maps;
    TRY(skeleton_.load(maps));
    ring_ = TRY(TraceRing::open(skeleton_->obj,
                                [this](const void* data, size_t size) { take(data, size); }));
    TRY(attach());
    return followed_.attach(skeleton_);
  }
  int fd() const override { return ring_->fd(); }
  void drain() override { ring_->drain(); }
  std::map<std::string, uint64_t> lost() const override { return trace_losses(skeleton_->obj); }
  std::optional<size_t> living() const override {
    if (!followed_.filter().by_process()) return std::nullopt;
    return followed_.living();
  }
  bool met() const override { return followed_.met(); }
  std::vector<std::string> closing(uint64_t) const override {
    std::vector<std::string> sentences;
    if (followed_.unjudged())
      sentences.push_back(std::to_string(followed_.unjudged()) +
                          " events were of processes that were gone before it was known whether "
                          "they are the job's");
    return sentences;
  }

 protected:
  // Between open and load; then after it.
  virtual Result<> prepare() { return {}; }
  virtual Result<> attach() = 0;
  // A record that is not of those who follow processes.
  virtual void decode(uint32_t type, const void* data, size_t size) = 0;
  void emit(EventLine line) { sink_(std::move(line)); }

  Followed& followed() { return followed_; }
  const Followed& followed() const { return followed_; }
  Skeleton<S>& skeleton() { return skeleton_; }
  const Skeleton<S>& skeleton() const { return skeleton_; }
  Result<> attach_program(bpf_program* program) {
    links_.push_back(TRY(jobscope::attach(program)));
    return {};
  }
  void keep(Link link) { links_.push_back(std::move(link)); }

 private:
  void take(const void* data, size_t size) {
    const auto event = record_as<struct event>(data, size);
    if (!event) return;
    if (event->type != TRACE_NEW_PROCESS) {
      decode(event->type, data, size);
    } else if (const auto process = record_as<new_process>(data, size)) {
      followed_.take(*process);
    }
  }

  uint64_t ring_bytes_;
  Followed followed_;
  Skeleton<S> skeleton_;
  std::unique_ptr<TraceRing> ring_;
  std::vector<Link> links_;
  Sink sink_;
};

}  // namespace jobscope
