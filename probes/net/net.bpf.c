// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// Bytes that the job's tasks sent to and got from sockets, by peer, and TCP segments sent again.
// Counted where a call on a socket returns, in the calling task: no packet and no system call is
// traced. What splice takes out of a socket does not pass there.
#include "probes/net/net.h"
#include "bpf/session.bpf.h"

#define AF_UNIX 1
#define AF_INET 2
#define AF_INET6 10
#define AF_RDS 21
#define AF_TIPC 30
#define AF_VSOCK 40
#define AF_SMC 43
#define IPPROTO_TCP 6
#define TCP_SYN_SENT 2
#define TCP_CLOSE 7
#define MSG_PEEK 0x02
#define MSG_ERRQUEUE 0x2000 /* gives back what was sent */

/* Sockets are marked with their job, so that what the kernel sends again later finds it. */
const volatile __u8 mark_sockets = 1;
/* 8e4597c627fb ("bpf: Allow using bpf_sk_storage in FENTRY/FEXIT/RAW_TP"), 5.11; before: by the
 * socket's address, until it is closed. */
const volatile __u8 has_socket_storage = 1;

struct mark {
  u32 job;
  u32 marked;
  u32 retransmits; /* so many of the socket's are counted */
};

struct {
  __uint(type, BPF_MAP_TYPE_SK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct mark);
} marks SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, u64);
  __type(value, struct mark);
} marks_by_address SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 4096);
  __type(key, struct peer_key);
  __type(value, struct peer_use);
} peers SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 3072);
  __type(key, struct class_key);
  __type(value, struct peer_use);
} classes SEC(".maps");

static __always_inline struct peer_use *use_of_class(u32 job, u32 peer_class) {
  struct class_key key = {.job = job, .peer_class = peer_class};
  struct peer_use *use = bpf_map_lookup_elem(&classes, &key);
  if (use) return use;
  struct peer_use none = {};
  bpf_map_update_elem(&classes, &key, &none, BPF_NOEXIST);
  return bpf_map_lookup_elem(&classes, &key);
}

static __always_inline struct peer_use *use_of_peer(const struct peer_key *key) {
  struct peer_use *use = bpf_map_lookup_elem(&peers, key);
  if (use) return use;
  struct peer_use none = {};
  bpf_map_update_elem(&peers, key, &none, BPF_NOEXIST);
  use = bpf_map_lookup_elem(&peers, key);
  if (use) return use;
  count_loss(LOST_PEERS);
  return use_of_class(key->job, PEER_REMOTE);
}

/* The peer is this machine if its address is 127.0.0.0/8 or our own. A socket bound to loopback can
 * reach nothing else, connected or not. */
static __always_inline u32 class_of_ipv4(struct peer_key *key, u32 peer, u32 own) {
  u32 loopback = bpf_htonl(0x7f000000), mask = bpf_htonl(0xff000000);
  if ((peer & mask) == loopback || (own & mask) == loopback) return PEER_LOOPBACK;
  if (!peer) return PEER_REMOTE;
  if (peer == own) return PEER_LOOPBACK;
  key->family = AF_INET;
  key->address[0] = peer;
  return PEER_REMOTE;
}

static __always_inline bool is_v4_mapped(const u32 *a) {
  return !a[0] && !a[1] && a[2] == bpf_htonl(0xffff);
}

static __always_inline bool is_ipv6_loopback(const u32 *a) {
  return !a[0] && !a[1] && !a[2] && a[3] == bpf_htonl(1);
}

static __always_inline u32 class_of_ipv6(struct peer_key *key, const struct sock *sk) {
  if (!bpf_core_field_exists(sk->__sk_common.skc_v6_daddr)) return PEER_REMOTE;
  u32 peer[4], own[4];
  for (int i = 0; i < 4; i++) {
    peer[i] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[i];
    own[i] = sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[i];
  }
  if (is_v4_mapped(peer)) return class_of_ipv4(key, peer[3], is_v4_mapped(own) ? own[3] : 0);
  if (is_ipv6_loopback(peer) || is_ipv6_loopback(own)) return PEER_LOOPBACK;
  if (!(peer[0] | peer[1] | peer[2] | peer[3])) return PEER_REMOTE;
  if (peer[0] == own[0] && peer[1] == own[1] && peer[2] == own[2] && peer[3] == own[3])
    return PEER_LOOPBACK;
  key->family = AF_INET6;
  __builtin_memcpy(key->address, peer, sizeof(key->address));
  return PEER_REMOTE;
}

/* Where the traffic of a socket is counted; NULL: nowhere, there is no peer (netlink, packet …). */
static __always_inline struct peer_use *use_of(const struct sock *sk, u32 job) {
  struct peer_key key = {.job = job};
  u32 peer_class;
  switch (sk->__sk_common.skc_family) {
    case AF_UNIX: peer_class = PEER_UNIX; break;
    case AF_INET:
      peer_class = class_of_ipv4(&key, sk->__sk_common.skc_daddr, sk->__sk_common.skc_rcv_saddr);
      break;
    case AF_INET6: peer_class = class_of_ipv6(&key, sk); break;
    case AF_VSOCK:
    case AF_SMC:
    case AF_RDS:
    case AF_TIPC: peer_class = PEER_REMOTE; break;
    default: return NULL;
  }
  return peer_class == PEER_REMOTE ? use_of_peer(&key) : use_of_class(job, peer_class);
}

static __always_inline u32 retransmits_of(const struct sock *sk) {
  return BPF_CORE_READ((const struct tcp_sock *)sk, total_retrans);
}

static __always_inline struct mark *mark_of(struct sock *sk) {
  if (has_socket_storage) return bpf_sk_storage_get(&marks, sk, NULL, 0);
  u64 address = (u64)sk;
  return bpf_map_lookup_elem(&marks_by_address, &address);
}

static __always_inline struct mark *new_mark(struct sock *sk) {
  if (has_socket_storage) return bpf_sk_storage_get(&marks, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
  u64 address = (u64)sk;
  const struct mark none = {};
  bpf_map_update_elem(&marks_by_address, &address, &none, BPF_NOEXIST);
  return bpf_map_lookup_elem(&marks_by_address, &address);
}

static __always_inline void forget_mark(struct sock *sk) {
  if (has_socket_storage) return; /* that goes with the socket */
  u64 address = (u64)sk;
  bpf_map_delete_elem(&marks_by_address, &address);
}

static __always_inline void mark_socket(struct sock *sk, u32 job) {
  if (!mark_sockets || sk->sk_protocol != IPPROTO_TCP) return;
  u16 family = sk->__sk_common.skc_family;
  if (family != AF_INET && family != AF_INET6) return;
  struct mark *m = new_mark(sk);
  if (!m || m->marked) return;
  m->job = job;
  m->retransmits = retransmits_of(sk);
  m->marked = 1;
}

static __always_inline void count(struct sock *sk, bool out, u32 bytes) {
  struct thread *t = current_member();
  if (!t) return;
  if (out) mark_socket(sk, t->job);
  struct peer_use *use = use_of(sk, t->job);
  if (use) __sync_fetch_and_add(out ? &use->bytes_out : &use->bytes_in, bytes);
}

static __always_inline int sent(struct sock *sk, int bytes) {
  if (bytes <= 0) return 0;
  u64 begin = cost_begin(COST_NET);
  count(sk, true, bytes);
  cost_end(COST_NET, begin);
  return 0;
}

static __always_inline int received(struct sock *sk, int bytes, int flags) {
  if (bytes <= 0 || flags & (MSG_PEEK | MSG_ERRQUEUE)) return 0;
  u64 begin = cost_begin(COST_NET);
  count(sk, false, bytes);
  cost_end(COST_NET, begin);
  return 0;
}

/* 6.3, 6e6eda44b939 */
SEC("tp_btf/sock_send_length")
int BPF_PROG(on_send, struct sock *sk, int bytes) { return sent(sk, bytes); }

SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_receive, struct sock *sk, int bytes, int flags) {
  return received(sk, bytes, flags);
}

/* A connection is the job's from its first SYN on. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state, struct sock *sk, int from, int to) {
  if (to == TCP_CLOSE) forget_mark(sk);
  if (to != TCP_SYN_SENT) return 0;
  struct thread *t = current_member();
  if (t) mark_socket(sk, t->job);
  return 0;
}

/* The kernel's own count of the socket is taken over: one event may be many segments. */
SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(on_retransmit, struct sock *sk) {
  struct mark *m = mark_of(sk);
  if (!m || !m->marked) return 0;
  u32 all = retransmits_of(sk);
  u32 new = all - m->retransmits;
  m->retransmits = all;
  struct peer_use *use = use_of(sk, m->job);
  if (use) __sync_fetch_and_add(&use->retransmits, new);
  return 0;
}

/* Before 6.3: the functions that the two tracepoints stand behind. */
#define ON_SEND(function)                                                                  \
  SEC("fexit/" #function)                                                                  \
  int BPF_PROG(on_##function, struct socket *socket, void *message, u64 size, int bytes) { \
    return sent(socket->sk, bytes);                                                        \
  }
#define ON_RECEIVE(function)                                                             \
  SEC("fexit/" #function)                                                                \
  int BPF_PROG(on_##function, struct socket *socket, void *message, u64 size, int flags, \
               int bytes) {                                                              \
    return received(socket->sk, bytes, flags);                                           \
  }

ON_SEND(inet_sendmsg)
ON_SEND(inet6_sendmsg)
ON_SEND(unix_stream_sendmsg)
ON_SEND(unix_dgram_sendmsg) /* seqpacket's calls it */
ON_RECEIVE(inet_recvmsg)
ON_RECEIVE(inet6_recvmsg)
ON_RECEIVE(unix_stream_recvmsg)
ON_RECEIVE(unix_dgram_recvmsg)

/* sendfile; gone in 6.5 (dc97391e6610) */
SEC("fexit/inet_sendpage")
int BPF_PROG(on_inet_sendpage, struct socket *socket, void *page, int offset, u64 size, int flags,
             long bytes) {
  return sent(socket->sk, bytes);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
