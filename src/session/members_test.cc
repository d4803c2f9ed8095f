#include "src/session/members.h"

#include <gmock/gmock.h>

#include <cstring>

namespace jobscope {
namespace {

using ::testing::ElementsAre;

TEST(ThreadRecord, is_the_thread_and_its_times_by_cpu) {
  constexpr uint32_t kCpus = 3;
  ASSERT_EQ(thread_record_size(kCpus), sizeof(thread) + 24);
  std::vector<uint64_t> bytes(2 * thread_record_size(kCpus) / sizeof(uint64_t));
  thread t{};
  for (uint32_t i = 0; i < 2; ++i) {
    char* at = reinterpret_cast<char*>(bytes.data()) + i * thread_record_size(kCpus);
    t.tid = 100 + i;
    std::memcpy(at, &t, sizeof(t));
    const uint64_t cores[kCpus] = {i, 20, 30};
    std::memcpy(at + sizeof(t), cores, sizeof(cores));
  }
  const char* second = reinterpret_cast<const char*>(bytes.data()) + thread_record_size(kCpus);
  const ThreadRecord record = thread_record(second, kCpus, true);
  EXPECT_EQ(record.head.tid, 101u);
  EXPECT_THAT(record.cores, ElementsAre(1, 20, 30));
  EXPECT_TRUE(record.ended);
  EXPECT_FALSE(thread_record(bytes.data(), kCpus, false).ended);
}

TEST(ThreadRecord, keeps_the_times_aligned) { EXPECT_EQ(sizeof(thread) % sizeof(uint64_t), 0u); }

TEST(Consistent, is_a_copy_whose_parts_make_up_its_life) {
  thread t{};
  t.start = 1000;
  t.since = 1000;
  EXPECT_TRUE(consistent(t));
  t.parts[REASON_CPU_USER] = 5;
  EXPECT_FALSE(consistent(t));  // taken between the two writes of an update
  t.since = 1005;
  EXPECT_TRUE(consistent(t));
  t.parts[REASON_OTHER] = 1ull << 40;
  t.since += 1ull << 40;
  EXPECT_TRUE(consistent(t));
  t.since += 1;
  EXPECT_FALSE(consistent(t));
}

}  // namespace
}  // namespace jobscope
