// Bytes in and out of the job's sockets by class of peer and by remote address; retransmits.
#include "probes/net/net.h"

#include <memory>

#include "net.skel.h"
#include "probes/net/peer_table.h"
#include "src/bpf/kernel_btf.h"
#include "src/bpf/map.h"
#include "src/bpf/prototype.h"
#include "src/bpf/skeleton.h"
#include "src/session/probe.h"

namespace jobscope {
namespace {

constexpr size_t kTopAddresses = 32;

static_assert(sizeof(peer_use) % 8 == 0);  // the kernel lays the copies of CPUs out in steps of 8

bool has_tracepoint(const char* name) { return tracepoint_arguments(name).has_value(); }

class NetProbe : public Probe {
 public:
  Result<> start(SharedMaps& maps) override {
    const bool lengths = has_tracepoint("sock_send_length") && has_tracepoint("sock_recv_length");
    retransmits_ = has_tracepoint("tcp_retransmit_skb") && has_tracepoint("inet_sock_set_state");
    if (!retransmits_) lack("retransmits unknown: no tracepoint tcp_retransmit_skb");
    Result<> loaded = load(maps, lengths);
    if (!loaded && retransmits_) {
      lack("retransmits unknown: " + loaded.error().what);
      retransmits_ = false;
      loaded = load(maps, lengths);
    }
    if (!loaded && !lengths)
      return tl::unexpected<Error>(
          loaded.error().context("no tracepoint sock_send_length (6.3), and fexit in its place"));
    if (!loaded) return loaded;
    return attach_all(lengths);
  }

  std::string degraded() const override { return degraded_; }

  Result<> collect(const Knowledge& knowledge, Snapshot& snapshot) override {
    PeerTable table(retransmits_);
    const int classes = bpf_map__fd(skeleton_->maps.classes);
    std::vector<peer_use> copies(knowledge.cpus);
    class_key key{};
    const void* from = nullptr;
    while (bpf_map_get_next_key(classes, from, &key) == 0) {
      from = &key;
      if (bpf_map_lookup_elem(classes, &key, copies.data()) != 0) continue;
      for (const peer_use& copy : copies) table.add(key, copy);
    }
    for_each<peer_key, peer_use>(
        bpf_map__fd(skeleton_->maps.peers),
        [&](const peer_key& peer, const peer_use& use) { table.add(peer, use); });
    for (NetworkUse& row : table.rows(kTopAddresses)) snapshot.network.push_back(std::move(row));
    return {};
  }

  const bpf_object* object() const override { return skeleton_->obj; }

 private:
  struct Program {
    bpf_program* program;
    const char* lack;  // what is not counted without it
  };

  std::vector<Program> length_programs() const {
    const auto& p = skeleton_->progs;
    return {{p.on_send, "bytes out"}, {p.on_receive, "bytes in"}};
  }
  std::vector<Program> function_programs() const {
    const auto& p = skeleton_->progs;
    return {{p.on_inet_sendmsg, "bytes out over IPv4"},
            {p.on_inet_recvmsg, "bytes in over IPv4"},
            {p.on_inet6_sendmsg, "bytes out over IPv6"},
            {p.on_inet6_recvmsg, "bytes in over IPv6"},
            {p.on_unix_stream_sendmsg, "bytes out over Unix streams"},
            {p.on_unix_stream_recvmsg, "bytes in over Unix streams"},
            {p.on_unix_dgram_sendmsg, "bytes out over Unix datagrams"},
            {p.on_unix_dgram_recvmsg, "bytes in over Unix datagrams"},
            {p.on_inet_sendpage, "bytes sent by sendfile"}};
  }

  Result<> load(SharedMaps& maps, bool lengths) {
    TRY(skeleton_.open());
    const auto& p = skeleton_->progs;
    for (const Program& one : length_programs()) bpf_program__set_autoload(one.program, lengths);
    for (const Program& one : function_programs()) {
      // "on_NAME" goes to the kernel's function NAME, if it has one.
      const char* function = bpf_program__name(one.program) + 3;
      bpf_program__set_autoload(one.program, !lengths && has_function(function));
    }
    bpf_program__set_autoload(p.on_state, retransmits_);
    bpf_program__set_autoload(p.on_retransmit, retransmits_);
    skeleton_->rodata->mark_sockets = retransmits_;
    skeleton_->rodata->has_socket_storage = has_socket_storage();
    const auto& m = skeleton_->maps;
    bpf_map__set_autocreate(m.marks, retransmits_ && has_socket_storage());
    bpf_map__set_autocreate(m.marks_by_address, retransmits_ && !has_socket_storage());
    return skeleton_.load(maps);
  }

  // Degraded without some, unavailable only if no bytes can be counted at all.
  Result<> attach_all(bool lengths) {
    size_t counting = 0;
    Error last{"the kernel has neither tracepoints of sockets (6.3) nor fexit", "", 0};
    for (const Program& one : lengths ? length_programs() : function_programs()) {
      Result<Link> link = bpf_program__autoload(one.program)
                              ? jobscope::attach(one.program)
                              : fail("the kernel lacks the function");
      if (link) {
        links_.push_back(std::move(*link));
        ++counting;
      } else {
        last = link.error();
        lack(std::string(one.lack) + " not counted: " + last.what);
      }
    }
    if (!counting) return tl::unexpected<Error>(last);
    if (!retransmits_) return {};
    const auto& p = skeleton_->progs;
    for (bpf_program* program : {p.on_state, p.on_retransmit}) {
      Result<Link> link = jobscope::attach(program);
      if (!link) {
        lack("retransmits unknown: " + link.error().what);
        retransmits_ = false;
        return {};
      }
      links_.push_back(std::move(*link));
    }
    return {};
  }

  void lack(const std::string& what) {
    if (!degraded_.empty()) degraded_ += "; ";
    degraded_ += what;
  }

  Skeleton<net_bpf> skeleton_;
  std::vector<Link> links_;
  bool retransmits_ = false;
  std::string degraded_;
};

}  // namespace

extern const ProbeInfo net_probe;
const ProbeInfo net_probe{"net", "bytes and retransmits by peer",
                          []() -> std::unique_ptr<Probe> { return std::make_unique<NetProbe>(); }};

}  // namespace jobscope
