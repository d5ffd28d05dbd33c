// A library to preload that makes the RDMA devices of this machine look like
// other kinds, and refuses the calls that such a device refuses. RDMA_SPOOF
// names the kinds, separated by commas:
//
//   vendor        not rxe by its vendor id, so fences and words by the device
//   no_inline     takes no data inline
//   no_resize     has no ibv_resize_cq
//   small_queues  its completion queues have room for 600 completions
//   no_srq        has no shared receive queues
//   late          completions of sends come a hundred polls later
//   glob          says that its atomics agree with the CPU's
//   iwarp         devices are iWARP's
//   unordered     acknowledges a write before its data are placed. A later read
//                 or atomic of the connection places them, in an order that
//                 RDMA_SPOOF_SEED chooses; a send does not
//   overtakes     writes and atomics without a fence overtake the reads and
//                 atomics before them in their list
//   no_relaxed    refuses memory with relaxed ordering
//
// With every kind, a send queue takes only as many work requests as were asked
// for. The real rxe has room for twice as many, and other devices do not.
//
// The library replaces functions of libibverbs and librdmacm in two ways. The
// dynamic linker finds its functions before theirs. Functions that are inline
// in their headers call a table of the context, which ibv_create_cq changes
// here.
#include <dlfcn.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <random>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "rdma-vm/held_writes.h"

namespace {

constexpr int kSmallQueue = 600;
constexpr std::uint32_t kOtherVendor = 0x15b3;
constexpr std::uint64_t kLatePolls = 100;
/// Factor of the room in a send queue. Each write becomes an empty write and
/// two parts, and parts of earlier writes may come on top.
constexpr std::uint32_t kRequestsOfWrite = 4;

bool is_spoofed(std::string_view kind) {
  const char* text = std::getenv("RDMA_SPOOF");
  std::string_view kinds = text == nullptr ? "" : text;
  while (!kinds.empty()) {
    const std::size_t comma = std::min(kinds.find(','), kinds.size());
    if (kinds.substr(0, comma) == kind) {
      return true;
    }
    kinds.remove_prefix(std::min(comma + 1, kinds.size()));
  }
  return false;
}

/// The real function of that name, which this library hides.
template <typename Function>
Function* hidden(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

int refuse(int error) {
  errno = error;
  return error;
}

/// A send queue as its device sees it.
struct SendQueue {
  std::uint32_t capacity = 0;
  std::uint64_t posted = 0;
  std::uint64_t freed = 0;
  /// Numbers of signalled work requests; each frees all up to its own.
  std::deque<std::uint64_t> signalled;
};

/// A completion that the program has not seen yet.
struct Late {
  ibv_wc completion{};
  std::uint64_t due = 0;  ///< The poll of its queue that may return it.
};

struct LateQueue {
  std::uint64_t polls = 0;
  std::deque<Late> waiting;
};

std::uint32_t seed() {
  const char* text = std::getenv("RDMA_SPOOF_SEED");
  return text == nullptr
             ? 1
             : static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

/// The state of all devices of the process; `mutex` guards all of it.
struct Known {
  std::mutex mutex;
  ibv_context_ops original{};  ///< All devices here are of one provider.
  std::unordered_map<std::uint32_t, SendQueue> send_queues;
  std::unordered_map<ibv_cq*, LateQueue> late_queues;
  /// Writes that are not placed, by number of their queue pair.
  std::unordered_map<std::uint32_t, acp::test::HeldWrites> held;
  std::minstd_rand random{seed()};
};

Known& known() {
  static auto* all = new Known;  // never freed: threads poll until the end
  return *all;
}

/// Counts a work request. False when the queue is full, or the device takes no
/// inline data.
bool is_taken(SendQueue& queue, const ibv_send_wr& request) {
  const bool is_inline = (request.send_flags & IBV_SEND_INLINE) != 0;
  if (queue.posted - queue.freed == queue.capacity ||
      (is_inline && is_spoofed("no_inline"))) {
    return false;
  }
  ++queue.posted;
  if ((request.send_flags & IBV_SEND_SIGNALED) != 0) {
    queue.signalled.push_back(queue.posted);
  }
  return true;
}

/// The list in the order in which a device may execute it. A write or an atomic
/// without a fence goes in front of the reads and atomics before it. Numbers
/// and signals stay where they are, because a queue pair completes in order.
std::vector<ibv_send_wr> overtaken(const ibv_send_wr* requests) {
  const auto waits = [](const ibv_send_wr& each) {
    return each.opcode == IBV_WR_RDMA_READ ||
           each.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
           each.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
  };
  const auto overtakes = [](const ibv_send_wr& each) {
    return each.opcode != IBV_WR_RDMA_READ && each.opcode != IBV_WR_SEND &&
           each.opcode != IBV_WR_SEND_WITH_IMM &&
           (each.send_flags & IBV_SEND_FENCE) == 0;
  };
  std::vector<ibv_send_wr> list;
  for (; requests != nullptr; requests = requests->next) {
    list.push_back(*requests);
    for (std::size_t at = list.size() - 1;
         at != 0 && overtakes(list[at]) && waits(list[at - 1]); --at) {
      std::swap(list[at], list[at - 1]);
      std::swap(list[at].wr_id, list[at - 1].wr_id);
      const unsigned differ = (list[at].send_flags ^ list[at - 1].send_flags) &
                              unsigned{IBV_SEND_SIGNALED};
      list[at].send_flags ^= differ;
      list[at - 1].send_flags ^= differ;
    }
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    list[i].next = i + 1 < list.size() ? &list[i + 1] : nullptr;
  }
  return list;
}

/// Looks at the whole list before it passes anything on, so a list without room
/// is refused as a whole. At most one of the two spoofs then changes the list.
int post_send(ibv_qp* pair, ibv_send_wr* requests, ibv_send_wr** bad) {
  const std::scoped_lock lock(known().mutex);
  SendQueue& queue = known().send_queues[pair->qp_num];
  for (ibv_send_wr* each = requests; each != nullptr; each = each->next) {
    if (!is_taken(queue, *each)) {
      *bad = each;
      return refuse(ENOMEM);
    }
  }
  if (is_spoofed("overtakes")) {
    std::vector<ibv_send_wr> list = overtaken(requests);
    const int error = known().original.post_send(pair, list.data(), bad);
    *bad = error == 0 ? *bad : requests;
    return error;
  }
  if (!is_spoofed("unordered")) {
    return known().original.post_send(pair, requests, bad);
  }
  acp::test::HeldWrites& held = known().held[pair->qp_num];
  const int error = known().original.post_send(
      pair, held.change(*pair->pd, *requests, known().random), bad);
  *bad = error == 0 ? *bad : requests;
  return error;
}

bool is_receive(const ibv_wc& completion) {
  return (completion.opcode & IBV_WC_RECV) != 0;
}

/// The program sees the completion now, so the work requests up to it are out
/// of the send queue.
void free_places(const ibv_wc& completion) {
  const auto found = known().send_queues.find(completion.qp_num);
  if (found == known().send_queues.end() ||
      completion.status != IBV_WC_SUCCESS || is_receive(completion) ||
      found->second.signalled.empty()) {
    return;
  }
  found->second.freed = found->second.signalled.front();
  found->second.signalled.pop_front();
}

/// Keeps new completions of sends back, and adds earlier completions whose time
/// has come. Returns the number of completions.
int put_off(LateQueue& late, int room, int count, ibv_wc* completions) {
  ++late.polls;
  int kept = 0;
  for (int i = 0; i < count; ++i) {
    const ibv_wc& each = completions[i];
    if (each.status == IBV_WC_SUCCESS && !is_receive(each)) {
      late.waiting.push_back({each, late.polls + kLatePolls});
    } else {
      completions[kept++] = each;
    }
  }
  // A failed completion completes all work requests before it, so completions
  // that are kept back must not come behind it.
  const bool is_failed = std::any_of(
      completions, completions + kept,
      [](const ibv_wc& each) { return each.status != IBV_WC_SUCCESS; });
  if (is_failed) {
    return kept;
  }
  while (kept < room && !late.waiting.empty() &&
         late.waiting.front().due <= late.polls) {
    completions[kept++] = late.waiting.front().completion;
    late.waiting.pop_front();
  }
  return kept;
}

int poll_cq(ibv_cq* queue, int room, ibv_wc* completions) {
  const std::scoped_lock lock(known().mutex);
  int count = known().original.poll_cq(queue, room, completions);
  if (count >= 0 && is_spoofed("late")) {
    count = put_off(known().late_queues[queue], room, count, completions);
  }
  for (int i = 0; i < count; ++i) {
    free_places(completions[i]);
  }
  return count;
}

/// A completion that is kept back here would not wake a sleeping program, as a
/// real late completion does. So all of them become due before the sleep: the
/// program polls once more after this call.
int req_notify_cq(ibv_cq* queue, int solicited_only) {
  const std::scoped_lock lock(known().mutex);
  for (Late& each : known().late_queues[queue].waiting) {
    each.due = 0;
  }
  return known().original.req_notify_cq(queue, solicited_only);
}

void spoof_kind(ibv_device& device) {
  if (is_spoofed("iwarp")) {
    device.node_type = IBV_NODE_RNIC;
    device.transport_type = IBV_TRANSPORT_IWARP;
  }
}

void change_table(ibv_context& context) {
  const std::scoped_lock lock(known().mutex);
  if (context.ops.post_send == post_send) {
    return;
  }
  known().original = context.ops;
  context.ops.post_send = post_send;
  context.ops.poll_cq = poll_cq;
  context.ops.req_notify_cq = req_notify_cq;
}

}  // namespace

#pragma GCC visibility push(default)

extern "C" {

ibv_cq* ibv_create_cq(ibv_context* context,
                      int cqe,
                      void* cq_context,
                      ibv_comp_channel* channel,
                      int comp_vector) {
  static auto* real = hidden<decltype(ibv_create_cq)>("ibv_create_cq");
  change_table(*context);
  if (is_spoofed("small_queues") && cqe > kSmallQueue) {
    errno = EINVAL;
    return nullptr;
  }
  ibv_cq* made = real(context, cqe, cq_context, channel, comp_vector);
  if (made != nullptr && is_spoofed("small_queues")) {
    made->cqe = cqe;  // no more than asked for, although the device rounds up
  }
  return made;
}

int ibv_destroy_cq(ibv_cq* cq) {
  static auto* real = hidden<decltype(ibv_destroy_cq)>("ibv_destroy_cq");
  {
    const std::scoped_lock lock(known().mutex);
    known().late_queues.erase(cq);
  }
  return real(cq);
}

int ibv_resize_cq(ibv_cq* cq, int cqe) {
  static auto* real = hidden<decltype(ibv_resize_cq)>("ibv_resize_cq");
  if (is_spoofed("no_resize")) {
    return refuse(EOPNOTSUPP);
  }
  return is_spoofed("small_queues") && cqe > kSmallQueue ? refuse(EINVAL)
                                                         : real(cq, cqe);
}

int ibv_query_device(ibv_context* context, ibv_device_attr* device_attr) {
  static auto* real = hidden<decltype(ibv_query_device)>("ibv_query_device");
  const int error = real(context, device_attr);
  if (is_spoofed("vendor")) {
    device_attr->vendor_id = kOtherVendor;
  }
  if (is_spoofed("small_queues")) {
    device_attr->max_cqe = kSmallQueue;
  }
  if (is_spoofed("no_srq")) {
    device_attr->max_srq = 0;
    device_attr->max_srq_wr = 0;
    device_attr->max_srq_sge = 0;
  }
  if (is_spoofed("glob")) {
    device_attr->atomic_cap = IBV_ATOMIC_GLOB;
  }
  return error;
}

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* srq_init_attr) {
  static auto* real = hidden<decltype(ibv_create_srq)>("ibv_create_srq");
  if (is_spoofed("no_srq")) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  return real(pd, srq_init_attr);
}

/// Where writes are held back they become several requests. So the real queue
/// is larger there, and the counts are of the size that the library asked for.
ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* qp_init_attr) {
  static auto* real = hidden<decltype(ibv_create_qp)>("ibv_create_qp");
  if (is_spoofed("no_inline") && qp_init_attr->cap.max_inline_data != 0) {
    errno = EINVAL;
    return nullptr;
  }
  const std::uint32_t capacity = qp_init_attr->cap.max_send_wr;
  if (is_spoofed("unordered")) {
    qp_init_attr->cap.max_send_wr *= kRequestsOfWrite;
  }
  ibv_qp* pair = real(pd, qp_init_attr);
  if (pair != nullptr) {
    const std::scoped_lock lock(known().mutex);
    SendQueue& queue = known().send_queues[pair->qp_num];
    queue = SendQueue{};
    queue.capacity = capacity;
    known().held.erase(pair->qp_num);
  }
  return pair;
}

ibv_mr* ibv_reg_mr_iova2(
    ibv_pd* pd, void* addr, size_t length, uint64_t iova, unsigned int access) {
  static auto* real = hidden<decltype(ibv_reg_mr_iova2)>("ibv_reg_mr_iova2");
  if (is_spoofed("no_relaxed") && (access & IBV_ACCESS_RELAXED_ORDERING) != 0) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  return real(pd, addr, length, iova, access);
}

ibv_device** ibv_get_device_list(int* num_devices) {
  static auto* real =
      hidden<decltype(ibv_get_device_list)>("ibv_get_device_list");
  ibv_device** list = real(num_devices);
  for (ibv_device** each = list; each != nullptr && *each != nullptr; ++each) {
    spoof_kind(**each);
  }
  return list;
}

int rdma_bind_addr(rdma_cm_id* id, sockaddr* addr) {
  static auto* real = hidden<decltype(rdma_bind_addr)>("rdma_bind_addr");
  const int result = real(id, addr);
  if (result == 0 && id->verbs != nullptr) {
    spoof_kind(*id->verbs->device);
  }
  return result;
}

}  // extern "C"

#pragma GCC visibility pop
