#include "src/http/workers.h"

#include "src/base/thread.h"

namespace jobscope {

size_t Workers::add_lane(size_t most_at_once) {
  Lane lane;
  lane.most = most_at_once;
  lanes_.push_back(std::move(lane));
  return lanes_.size() - 1;
}

void Workers::start(size_t threads) {
  for (size_t i = 0; i < threads; ++i)
    threads_.push_back(start_thread("http-worker", [this] { work(); }));
}

void Workers::submit(size_t lane, Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    lanes_[lane].waiting.push_back(std::move(task));
  }
  changed_.notify_one();
}

void Workers::stop() {
  std::vector<std::deque<Task>> dropped;  // destroyed without the lock
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    for (Lane& lane : lanes_) dropped.push_back(std::exchange(lane.waiting, {}));
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

Workers::Lane* Workers::ready() {
  for (size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[(next_ + i) % lanes_.size()];
    if (lane.waiting.empty() || lane.running >= lane.most) continue;
    next_ = (next_ + i + 1) % lanes_.size();
    return &lane;
  }
  return nullptr;
}

void Workers::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    Lane* lane = nullptr;
    changed_.wait(lock, [&] { return stopped_ || (lane = ready()) != nullptr; });
    if (stopped_) return;
    Task task = std::move(lane->waiting.front());
    lane->waiting.pop_front();
    ++lane->running;
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
    --lane->running;
    // A thread that found this lane full may sleep: its turn has come.
    if (!lane->waiting.empty()) changed_.notify_one();
  }
}

}  // namespace jobscope
