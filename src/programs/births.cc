#include "src/programs/births.h"

#include <mutex>

#include "births.skel.h"
#include "bpf/birth.h"
#include "src/bpf/log.h"
#include "src/bpf/skeleton.h"

namespace jobscope {
namespace {

// Those taken in one go. libbpf goes on as long as there are more, which may be for ever.
constexpr size_t kMostAtOnce = 65'536;

class KernelBirths : public Births {
 public:
  explicit KernelBirths(Tell tell) : tell_(std::move(tell)) {}

  Result<> start() {
    SharedMaps none;
    TRY(skeleton_.open());
    TRY(skeleton_.load(none));
    BpfLog log;
    ring_.reset(ring_buffer__new(
        bpf_map__fd(skeleton_->maps.births),
        [](void* self, void* data, size_t) {
          auto* births = static_cast<KernelBirths*>(self);
          const auto* one = static_cast<const birth*>(data);
          births->tell_(one->parent, one->child);
          return ++births->drained_ < kMostAtOnce ? 0 : -EAGAIN;
        },
        this, nullptr));
    if (!ring_) return log.failure("reading the ring of births", errno);
    return skeleton_.attach();
  }

  int fd() const override { return ring_buffer__epoll_fd(ring_.get()); }
  void drain() override {
    const std::lock_guard lock(mutex_);
    drained_ = 0;
    ring_buffer__consume(ring_.get());
  }
  uint64_t lost() const override { return skeleton_->bss->lost; }

 private:
  struct FreeRing {
    void operator()(ring_buffer* ring) const { ring_buffer__free(ring); }
  };
  Tell tell_;
  std::mutex mutex_;
  size_t drained_ = 0;
  Skeleton<births_bpf> skeleton_;
  std::unique_ptr<ring_buffer, FreeRing> ring_;
};

}  // namespace

Result<std::unique_ptr<Births>> Births::watch(Tell tell) {
  auto births = std::make_unique<KernelBirths>(std::move(tell));
  TRY(births->start());
  return births;
}

}  // namespace jobscope
