#include "probes/net/peer_table.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

namespace jobscope {
namespace {

void add_to(peer_use& sum, const peer_use& use) {
  sum.bytes_in += use.bytes_in;
  sum.bytes_out += use.bytes_out;
  sum.retransmits += use.retransmits;
}

bool any(const peer_use& use) { return use.bytes_in || use.bytes_out || use.retransmits; }

PeerClass class_of(uint32_t kernel_side) {
  switch (kernel_side) {
    case PEER_UNIX: return PeerClass::unix_socket;
    case PEER_LOOPBACK: return PeerClass::loopback;
    default: return PeerClass::remote;
  }
}

}  // namespace

std::string peer_address(const peer_key& key) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = static_cast<int>(key.family);
  if (family == 0 || !::inet_ntop(family, key.address, text.data(), text.size())) return "unknown";
  return text.data();
}

void PeerTable::add(const class_key& key, const peer_use& use) {
  add_to(classes_[class_of(key.peer_class)], use);
}

void PeerTable::add(const peer_key& key, const peer_use& use) {
  add_to(classes_[PeerClass::remote], use);
  add_to(addresses_[peer_address(key)], use);
}

NetworkUse PeerTable::row(PeerClass peer, const std::string& address, const peer_use& use) const {
  NetworkUse row{peer, address, use.bytes_in, use.bytes_out, std::nullopt};
  if (retransmits_ && peer != PeerClass::unix_socket) row.retransmits = use.retransmits;
  return row;
}

std::vector<NetworkUse> PeerTable::rows(size_t top) const {
  std::vector<NetworkUse> rows;
  for (const auto& [peer, use] : classes_)
    if (any(use)) rows.push_back(row(peer, "", use));
  const size_t classes = rows.size();
  for (const auto& [address, use] : addresses_)
    if (any(use)) rows.push_back(row(PeerClass::remote, address, use));
  const auto first = rows.begin() + static_cast<std::ptrdiff_t>(classes);
  std::stable_sort(first, rows.end(), [](const NetworkUse& a, const NetworkUse& b) {
    return a.bytes_in + a.bytes_out > b.bytes_in + b.bytes_out;
  });
  rows.resize(std::min(rows.size(), classes + top));
  return rows;
}

}  // namespace jobscope
