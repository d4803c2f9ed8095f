#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string_view>

#include "probes/blockio/block_table.h"
#include "src/bpf/block_hooks.h"

namespace jobscope {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

constexpr uint32_t kVda = 254u << 20;

block_key key(uint16_t operation, uint16_t charged = 1, uint32_t device = kVda, uint32_t job = 0) {
  return {charged ? job : 0, device, operation, charged};
}

void add(histogram& h, uint32_t slot, uint64_t value) {
  h.slots[slot] += 1;
  h.sum += value;
  if (value > h.max) h.max = value;
}

block_use one_request(std::string_view name, uint64_t bytes) {
  block_use use{};
  use.count = 1;
  use.bytes = bytes;
  name.copy(use.name, sizeof(use.name));
  return use;
}

TEST(BlockTable, adds_up_the_copies_of_all_cpus) {
  std::vector<block_use> copies(3);
  copies[1] = one_request("vda", 4096);
  copies[1].sequential = 1;
  add(copies[1].latency, 3, 11);
  add(copies[1].queue, 1, 2);
  add(copies[1].device_time, 3, 9);
  copies[2] = one_request("", 8192);
  add(copies[2].latency, 9, 700);

  BlockTable table;
  table.add(key(BLOCK_READ), copies, "254:0");
  const std::vector<BlockIo> rows = table.rows();
  ASSERT_EQ(rows.size(), 1u);
  const BlockIo& read = rows[0];
  EXPECT_EQ(read.device, "vda");
  EXPECT_EQ(read.operation, "read");
  EXPECT_TRUE(read.charged);
  EXPECT_EQ(read.count, 2u);
  EXPECT_EQ(read.bytes, 12288u);
  EXPECT_EQ(read.sequential, 1u);
  EXPECT_EQ(read.latency.count(), 2u);
  EXPECT_EQ(read.latency.max, 700u);
  EXPECT_EQ(read.latency.sum, 711u);
  EXPECT_EQ(read.queue.count(), 1u);
  EXPECT_EQ(read.device_time.max, 9u);
}

TEST(BlockTable, adds_up_jobs_but_not_the_kernels_own) {
  const block_use use = one_request("vda", 512);
  BlockTable table;
  table.add(key(BLOCK_WRITE, 0), {&use, 1}, "");
  table.add(key(BLOCK_WRITE, 1, kVda, 1), {&use, 1}, "");
  table.add(key(BLOCK_WRITE, 1, kVda, 2), {&use, 1}, "");
  EXPECT_THAT(table.rows(), ElementsAre(Field(&BlockIo::count, 2u), Field(&BlockIo::count, 1u)));
  EXPECT_TRUE(table.rows()[0].charged);
  EXPECT_FALSE(table.rows()[1].charged);
}

TEST(BlockTable, orders_by_device_and_operation) {
  const block_use a = one_request("sda", 1), b = one_request("sdb", 1);
  BlockTable table;
  table.add(key(BLOCK_READ, 1, 8u << 20 | 16), {&b, 1}, "");
  table.add(key(BLOCK_DISCARD, 1, 8u << 20), {&a, 1}, "");
  table.add(key(BLOCK_FLUSH, 1, 8u << 20), {&a, 1}, "");
  std::vector<std::string> order;
  for (const BlockIo& row : table.rows()) order.push_back(row.device + " " + row.operation);
  EXPECT_THAT(order, ElementsAre("sda flush", "sda discard", "sdb read"));
}

TEST(BlockTable, names_a_disk_by_its_number_if_the_kernel_did_not) {
  const block_use use = one_request("", 1),
                  whole = one_request("a name of thirty-two characters!", 1);
  BlockTable table;
  table.add(key(BLOCK_READ), {&use, 1}, "254:0");
  table.add(key(BLOCK_WRITE), {&whole, 1}, "254:0");
  EXPECT_EQ(table.rows()[0].device, "254:0");
  EXPECT_EQ(table.rows()[1].device, "a name of thirty-two characters!");
}

TEST(BlockTable, leaves_out_what_never_ended) {
  const block_use nothing{};
  BlockTable table;
  table.add(key(BLOCK_READ), {&nothing, 1}, "vda");
  table.add(key(BLOCK_OPERATIONS), {&nothing, 1}, "vda");
  EXPECT_TRUE(table.rows().empty());
}

using Tracepoints = std::map<std::string, std::vector<std::string>>;

BlockHooks hooks_of(const Tracepoints& kernel) {
  return find_block_hooks([&](const std::string& name) -> std::optional<std::vector<std::string>> {
    const auto found = kernel.find(name);
    if (found == kernel.end()) return std::nullopt;
    return found->second;
  });
}

TEST(BlockHooks, of_a_kernel_with_io_start) {
  const BlockHooks hooks = hooks_of({{"block_io_start", {"request"}},
                                     {"block_io_done", {"request"}},
                                     {"block_getrq", {"bio"}},
                                     {"block_rq_issue", {"request"}},
                                     {"block_rq_complete", {"request", "", ""}},
                                     {"block_rq_merge", {"request"}}});
  EXPECT_TRUE(hooks.start && hooks.issue && hooks.complete && hooks.merge);
  EXPECT_FALSE(hooks.getrq_of_queue || hooks.issue_of_queue || hooks.merge_of_queue);
}

TEST(BlockHooks, tells_the_arguments_of_each_tracepoint_apart) {
  // A stable 5.10 that took over a54895fa057c but not e8a676d61c07.
  const BlockHooks hooks = hooks_of({{"block_getrq", {"request_queue", "bio", ""}},
                                     {"block_rq_issue", {"request"}},
                                     {"block_rq_complete", {"request", "", ""}},
                                     {"block_rq_merge", {"request"}}});
  EXPECT_FALSE(hooks.start);
  EXPECT_TRUE(hooks.getrq && hooks.getrq_of_queue);
  EXPECT_TRUE(hooks.issue && hooks.merge);
  EXPECT_FALSE(hooks.issue_of_queue || hooks.merge_of_queue);
}

TEST(BlockHooks, of_a_kernel_that_passes_the_queue) {
  const BlockHooks hooks = hooks_of({{"block_getrq", {"request_queue", "bio", ""}},
                                     {"block_rq_issue", {"request_queue", "request"}},
                                     {"block_rq_complete", {"request", "", ""}}});
  EXPECT_TRUE(hooks.getrq_of_queue && hooks.issue_of_queue);
  EXPECT_FALSE(hooks.merge || hooks.merge_of_queue);
}

TEST(BlockHooks, of_a_kernel_without_block_layer) {
  const BlockHooks hooks = hooks_of({});
  EXPECT_FALSE(hooks.start || hooks.getrq || hooks.issue || hooks.complete || hooks.merge);
}

struct FreeBtf {
  void operator()(btf* b) const { btf__free(b); }
};

TEST(FlushSequenceFlag, is_a_bit_that_the_kernel_names) {
  const std::unique_ptr<btf, FreeBtf> kernel(btf__new_empty());
  btf__add_enum(kernel.get(), "unrelated", 4);
  btf__add_enum_value(kernel.get(), "__RQF_FLUSH", 9);
  EXPECT_EQ(flush_sequence_flag(kernel.get()), 1u << 4);
  btf__add_enum(kernel.get(), nullptr, 4);
  btf__add_enum_value(kernel.get(), "__RQF_STARTED", 0);
  btf__add_enum_value(kernel.get(), "__RQF_FLUSH_SEQ", 1);
  EXPECT_EQ(flush_sequence_flag(kernel.get()), 1u << 1);
  EXPECT_EQ(flush_sequence_flag(nullptr), 1u << 4);
}

}  // namespace
}  // namespace jobscope
