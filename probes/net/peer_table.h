// The job's traffic by class of peer and by remote address, out of what the kernel side counted.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "probes/net/net.h"
#include "src/model/snapshot.h"

namespace jobscope {

// "10.0.0.7", "2001:db8::1"; "unknown" where the kernel side did not know the address.
std::string peer_address(const peer_key& key);

class PeerTable {
 public:
  // retransmits == false: nobody counted them.
  explicit PeerTable(bool retransmits) : retransmits_(retransmits) {}
  void add(const class_key& key, const peer_use& use);
  void add(const peer_key& key, const peer_use& use);
  // One row for each class that has any traffic, then the `top` remote addresses by bytes.
  std::vector<NetworkUse> rows(size_t top) const;

 private:
  NetworkUse row(PeerClass peer, const std::string& address, const peer_use& use) const;

  bool retransmits_;
  std::map<PeerClass, peer_use> classes_;
  std::map<std::string, peer_use> addresses_;
};

}  // namespace jobscope
