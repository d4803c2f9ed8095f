#include "src/http/workers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>

namespace jobscope {
namespace {

TEST(Workers, a_lane_leaves_threads_for_others) {
  std::promise<void> gate;
  const auto open = gate.get_future().share();
  std::atomic<int> slow = 0;
  std::promise<void> quick, all;
  Workers workers;
  const size_t first = workers.add_lane(2), second = workers.add_lane(1);
  workers.start(3);
  for (int i = 0; i < 11; ++i)
    workers.submit(first, [&] {
      open.wait();
      if (++slow == 11) all.set_value();
    });
  workers.submit(second, [&] { quick.set_value(); });
  quick.get_future().wait();
  EXPECT_EQ(slow, 0);
  gate.set_value();
  all.get_future().wait();
  EXPECT_EQ(slow, 11);
}

TEST(Workers, tasks_of_a_lane_begin_in_order) {
  std::vector<int> order;
  std::promise<void> last;
  Workers workers;
  const size_t lane = workers.add_lane(1);
  for (int i = 0; i < 100; ++i) workers.submit(lane, [&, i] { order.push_back(i); });
  workers.submit(lane, [&] { last.set_value(); });
  workers.start(4);
  last.get_future().wait();
  ASSERT_EQ(order.size(), 100U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(Workers, stop_waits_for_what_runs_and_drops_the_rest) {
  std::promise<void> begun, gate;
  std::atomic<int> done = 0;
  Workers workers;
  const size_t lane = workers.add_lane(1);
  workers.start(2);
  workers.submit(lane, [&] {
    begun.set_value();
    gate.get_future().wait();
    ++done;
  });
  begun.get_future().wait();
  std::thread stopper([&] {
    workers.stop();
    EXPECT_EQ(done, 1);
  });
  gate.set_value();
  stopper.join();
  workers.submit(lane, [&] { ++done; });
  EXPECT_EQ(done, 1);

  Workers idle;  // without threads, nothing can begin
  const size_t other = idle.add_lane(1);
  const auto token = std::make_shared<int>();
  idle.submit(other, [token] {});
  EXPECT_EQ(token.use_count(), 2);
  idle.stop();
  EXPECT_EQ(token.use_count(), 1);
}

}  // namespace
}  // namespace jobscope
