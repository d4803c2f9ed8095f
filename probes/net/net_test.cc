#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/net/peer_table.h"

namespace jobscope {
namespace {

peer_key peer(int family, const char* address, uint32_t job = 0) {
  peer_key key{};
  key.job = job;
  key.family = static_cast<uint32_t>(family);
  if (family != 0) {
    EXPECT_EQ(::inet_pton(family, address, key.address), 1);
  }
  return key;
}

TEST(PeerAddress, is_written_as_people_do) {
  EXPECT_EQ(peer_address(peer(AF_INET, "10.0.0.7")), "10.0.0.7");
  EXPECT_EQ(peer_address(peer(AF_INET6, "2001:db8:0:0:0:0:0:1")), "2001:db8::1");
  EXPECT_EQ(peer_address(peer(0, "")), "unknown");
}

TEST(PeerTable, is_empty_without_traffic) {
  PeerTable table(true);
  EXPECT_TRUE(table.rows(32).empty());
  table.add(class_key{0, PEER_LOOPBACK}, peer_use{});
  table.add(peer(AF_INET, "10.0.0.7"), peer_use{});
  EXPECT_TRUE(table.rows(32).empty());
}

TEST(PeerTable, a_remote_class_is_the_sum_of_its_addresses_and_of_what_has_none) {
  PeerTable table(true);
  table.add(peer(AF_INET, "10.0.0.7"), peer_use{1, 2, 3});
  table.add(peer(AF_INET6, "2001:db8::1"), peer_use{10, 20, 30});
  table.add(class_key{0, PEER_REMOTE}, peer_use{100, 200, 300});  // found no room in the map
  const std::vector<NetworkUse> rows = table.rows(32);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].peer, PeerClass::remote);
  EXPECT_EQ(rows[0].address, "");
  EXPECT_EQ(rows[0].bytes_in, 111u);
  EXPECT_EQ(rows[0].bytes_out, 222u);
  EXPECT_EQ(rows[0].retransmits, 333u);
  EXPECT_EQ(rows[1].address, "2001:db8::1");
  EXPECT_EQ(rows[2].address, "10.0.0.7");
}

TEST(PeerTable, adds_up_cpus_and_jobs) {
  PeerTable table(true);
  table.add(class_key{1, PEER_LOOPBACK}, peer_use{1, 0, 0});
  table.add(class_key{1, PEER_LOOPBACK}, peer_use{2, 0, 0});
  table.add(class_key{2, PEER_LOOPBACK}, peer_use{4, 0, 0});
  table.add(peer(AF_INET, "10.0.0.7", 1), peer_use{8, 0, 0});
  table.add(peer(AF_INET, "10.0.0.7", 2), peer_use{16, 0, 0});
  const std::vector<NetworkUse> rows = table.rows(32);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].peer, PeerClass::loopback);
  EXPECT_EQ(rows[0].bytes_in, 7u);
  EXPECT_EQ(rows[2].address, "10.0.0.7");
  EXPECT_EQ(rows[2].bytes_in, 24u);
}

TEST(PeerTable, keeps_the_addresses_with_the_most_bytes) {
  PeerTable table(true);
  for (uint32_t i = 0; i < 100; ++i) {
    peer_key key{0, AF_INET, {htonl(0x0A000000 | i), 0, 0, 0}};
    table.add(key, peer_use{i, 1000 - 3 * i, 0});
  }
  const std::vector<NetworkUse> rows = table.rows(32);
  ASSERT_EQ(rows.size(), 33u);
  EXPECT_EQ(rows[0].bytes_in, 4950u);  // of the class: all hundred
  EXPECT_EQ(rows[1].address, "10.0.0.0");
  EXPECT_EQ(rows[32].address, "10.0.0.31");
}

TEST(PeerTable, shows_a_peer_that_only_never_answered) {
  PeerTable table(true);
  table.add(peer(AF_INET, "10.0.0.7"), peer_use{0, 0, 5});
  const std::vector<NetworkUse> rows = table.rows(32);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].retransmits, 5u);
}

TEST(PeerTable, retransmits_are_unknown_where_nobody_counts_them) {
  PeerTable without(false);
  without.add(peer(AF_INET, "10.0.0.7"), peer_use{1, 1, 0});
  for (const NetworkUse& row : without.rows(32)) EXPECT_EQ(row.retransmits, std::nullopt);
  PeerTable with(true);
  with.add(class_key{0, PEER_UNIX}, peer_use{1, 1, 0});  // nothing is ever sent again there
  EXPECT_EQ(with.rows(32)[0].retransmits, std::nullopt);
}

}  // namespace
}  // namespace jobscope
