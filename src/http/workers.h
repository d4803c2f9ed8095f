// A few threads for work that may block, shared fairly.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace jobscope {

// Tasks come in lanes. A lane has at most so many threads at once, so that slow tasks of one lane
// leave threads for the others. Within a lane, tasks start in the order in which they came.
class Workers {
 public:
  using Task = std::function<void()>;  // throws nothing

  Workers() = default;
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() { stop(); }

  // The number of the lane. Before start().
  size_t add_lane(size_t most_at_once);
  void start(size_t threads);
  // From any thread. After stop() the task is dropped.
  void submit(size_t lane, Task task);
  // Drops tasks that have not begun and waits for those that have.
  void stop();

 private:
  struct Lane {
    size_t most = 1;
    size_t running = 0;
    std::deque<Task> waiting;
  };
  void work();
  Lane* ready();  // one with a task that may start

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Lane> lanes_;
  size_t next_ = 0;  // where to look first, so that lanes take turns
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace jobscope
