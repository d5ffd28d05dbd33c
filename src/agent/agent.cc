// Executes requests in memory of this rank. The transports hand requests over
// through TransportSet. Nothing here blocks: a reply without room waits in the
// backlog.
#include "agent/agent.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "base/log.h"
#include "gmm/memory_ops.h"
#include "protocol/rank_names.h"

namespace acp::agent {

namespace {

using protocol::Opcode;
using transport::Ordering;

/// Bytes of results in one reply. Initiators divide larger gets.
constexpr std::size_t kMaxResultBytes = 1 << 20;

/// From this size on, the endpoint sends the data of a single get from where
/// they are. Collecting them first would be two more passes over the bytes.
constexpr std::size_t kLargeGetBytes = 1024;

static_assert(offsetof(protocol::ReplyHeader, id) +
                  protocol::kMostSharing * sizeof(std::uint64_t) <=
              transport::kLeastMessage);

bool is_large_get(const protocol::RequestView& request,
                  const protocol::Step& first) {
  return request.header.steps == 1 && first.opcode == Opcode::kGet &&
         first.flags == 0 && first.size >= kLargeGetBytes;
}

/// Index of a step of a request in its chain: the requests of a chain in parts
/// begin with a put that says its own. A peer may have sent any.
std::uint16_t index_in_chain(const protocol::Step& first,
                             std::size_t step) noexcept {
  const std::uint64_t before = first.opcode == Opcode::kPut ? first.operand : 0;
  return static_cast<std::uint16_t>(
      std::min<std::uint64_t>(before, protocol::kMaxSteps - 1 - step) + step);
}

}  // namespace

Agent::Agent(const gmm::AddressSpace& space,
             gmm::ThreadWaker& waker,
             Surroundings& surroundings)
    : space_(space), waker_(waker), surroundings_(surroundings) {}

/// A part has no reply of its own, and an unanswered request has none at all. A
/// copy is answered when the engine has done it. All other requests run their
/// steps in order, up to the first that fails, and are answered here. A success
/// without results shares its reply.
void Agent::on_request(transport::ProcId from,
                       transport::Color color,
                       std::span<const std::byte> bytes) {
  const auto request = protocol::decode_request(bytes);
  if (!request) {
    refuse(from, color, bytes);
    return;
  }
  if (request->header.flags == protocol::kMoreFlag) {
    on_part(from, color, *request);
    return;
  }
  if (request->header.flags == protocol::kUnansweredFlag) {
    run_unanswered(from, *request);
    return;
  }
  if (const auto failure =
          failed_.empty() ? std::nullopt
                          : take_failure(from, color, request->header.id)) {
    reply(from, color, request->header.id, failure->status, failure->step);
    return;
  }
  const protocol::Step first = request->step(0);
  if (first.opcode == Opcode::kCopy) {
    const Result<std::byte*> source = space_.own(first.local, first.size);
    if (source.ok()) {
      surroundings_.start_copy(from, color, request->header.id, first);
    } else {
      reply(from, color, request->header.id, source.status());
    }
    return;
  }
  if (is_large_get(*request, first)) {
    reply_get(from, color, request->header.id, first);
    return;
  }
  protocol::ReplyHeader header;
  header.id = request->header.id;
  results_.clear();
  std::span<const std::byte> data = request->data;
  for (std::size_t i = 0; i < request->header.steps; ++i) {
    header.status = run_step(i == 0 ? first : request->step(i), data);
    if (header.status != Status::kOk) {
      header.failed_step = index_in_chain(first, i);
      break;
    }
  }
  if (header.status == Status::kOk && results_.empty()) {
    add_done(from, color, header.id);
    return;
  }
  header.data_bytes = static_cast<std::uint32_t>(results_.size());
  send_reply(from, color, header, results_);
}

/// The initiator has no order between this get and its later requests, so the
/// bytes may be read when the endpoint has room.
void Agent::reply_get(transport::ProcId to,
                      transport::Color color,
                      std::uint64_t id,
                      const protocol::Step& get) {
  const auto source = source_of(get);
  if (!source.ok()) {
    reply(to, color, id, source.status());
    return;
  }
  protocol::ReplyHeader header;
  header.id = id;
  header.data_bytes = static_cast<std::uint32_t>(get.size);
  if (!backlog_.empty() ||
      try_send(to, color, header, {source.value(), true}) == Status::kAgain) {
    queue_to(to, color).replies.push_back({header, {}, get});
  }
}

/// The bytes of a large get, to be sent before the engine's mutex is released.
Result<std::span<const std::byte>> Agent::source_of(
    const protocol::Step& get) const {
  if (get.size > kMaxResultBytes) {
    return Status::kTooLarge;
  }
  const Result<std::byte*> source = open(get.remote, get.size, Access::kRead);
  if (!source.ok()) {
    return source.status();
  }
  // This fence stands in gmm::copy_bytes, too: a flag that this thread has read
  // earlier counts as read before the data.
  std::atomic_thread_fence(std::memory_order_acquire);
  return std::span<const std::byte>(source.value(), get.size);
}

void Agent::run_unanswered(transport::ProcId from,
                           const protocol::RequestView& request) {
  results_.clear();
  std::span<const std::byte> data = request.data;
  const protocol::Step step = request.step(0);
  if (const Status status = run_step(step, data); status != Status::kOk) {
    log_error("a step of {} on {:#018x} of this rank: {}",
              protocol::name_of_proc(space_.segment(), from), step.remote,
              status_text(status));
  }
}

/// Fails a request whose data are missing, and drops any other message.
void Agent::refuse(transport::ProcId from,
                   transport::Color color,
                   std::span<const std::byte> bytes) {
  const auto header = protocol::decode_request_without_data(bytes);
  if (!header) {
    log_warning("dropped a malformed request of {} bytes from {}", bytes.size(),
                protocol::name_of_proc(space_.segment(), from));
    return;
  }
  const auto first = protocol::decode_step(bytes.data() + sizeof *header);
  const Failed failure =
      take_failure(from, color, header->id)
          .value_or(Failed{from, color, header->id, Status::kBadAddress,
                           index_in_chain(first, 0)});
  if (header->flags == protocol::kMoreFlag) {
    failed_.push_back(failure);
  } else {
    reply(from, color, header->id, failure.status, failure.step);
  }
}

/// Executes a part and remembers its failure. Only the reply to the last part
/// tells it, because the initiator waits for no earlier reply.
void Agent::on_part(transport::ProcId from,
                    transport::Color color,
                    const protocol::RequestView& part) {
  const auto is_same = [&](const Failed& failed) {
    return failed.from == from && failed.color == color &&
           failed.id == part.header.id;
  };
  if (std::any_of(failed_.begin(), failed_.end(), is_same)) {
    return;
  }
  std::span<const std::byte> data = part.data;
  const protocol::Step put = part.step(0);
  const Status status = run_step(put, data);
  if (status != Status::kOk) {
    failed_.push_back(
        {from, color, part.header.id, status, index_in_chain(put, 0)});
  }
}

/// Returns and forgets the failure of an earlier part of this request.
std::optional<Agent::Failed> Agent::take_failure(transport::ProcId from,
                                                 transport::Color color,
                                                 std::uint64_t id) {
  for (auto each = failed_.begin(); each != failed_.end(); ++each) {
    if (each->from == from && each->color == color && each->id == id) {
      const Failed failure = *each;
      failed_.erase(each);
      return failure;
    }
  }
  return std::nullopt;
}

/// Looks up memory of this rank. kBadAddress: the program has unmapped it, or
/// made it read-only, since it registered it.
Result<std::byte*> Agent::open(gmm::GlobalAddress ga,
                               std::size_t size,
                               Access access) const {
  const Result<std::byte*> address = space_.own(ga, size);
  if (!address.ok() ||
      gmm::can_touch(space_, ga, address.value(), size, access)) {
    return address;
  }
  log_error(
      "a peer cannot {} {} bytes at {}, global address {:#018x}, which this "
      "rank "
      "has registered: was the memory freed or made read-only before "
      "acp_unregister_memory?",
      access == Access::kRead ? "read" : "change", size,
      static_cast<const void*>(address.value()), ga);
  return Status::kBadAddress;
}

/// Checks the memory before the step has any effect. Takes a put's bytes from
/// the front of `data` and appends results to results_. The doorbell comes
/// last: a thread that it wakes sees the effect.
Status Agent::run_step(const protocol::Step& step,
                       std::span<const std::byte>& data) {
  const std::size_t size = bytes_at_remote(step);
  if (is_bulk(step) && size == 0) {
    ring_if_asked(step);
    return Status::kOk;
  }
  const Result<std::byte*> address =
      open(step.remote, size,
           step.opcode == Opcode::kGet ? Access::kRead : Access::kWrite);
  if (!address.ok()) {
    return address.status();
  }
  std::byte* target = address.value();
  if (!is_bulk(step) &&
      (reinterpret_cast<std::uintptr_t>(target) & (size - 1)) != 0) {
    return Status::kMisaligned;
  }
  if (step.opcode == Opcode::kPut) {
    gmm::copy_bytes(target, data.data(), size);
    data = data.subspan(size);
  } else if (step.opcode == Opcode::kGet) {
    if (results_.size() + size > kMaxResultBytes) {
      return Status::kTooLarge;
    }
    const std::size_t at = results_.size();
    results_.resize(at + size);
    gmm::copy_bytes(results_.data() + at, target, size);
  } else if (step.opcode == Opcode::kPut8) {
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(target))
        .store(step.operand);
  } else if (step.width == 8 && space_.has_device_atomics()) {
    // An atomic of the CPU is not atomic with atomics of the device.
    log_error(
        "an atomic of 8 bytes at {:#018x} came by message: a device executes "
        "them (ACP_VERBS_ATOMICS or ACP_UCX_ATOMICS is \"device\"), but could "
        "not "
        "register this memory; raise the limit of locked memory (ulimit -l), "
        "or unset that setting",
        step.remote);
    return Status::kUnsupported;
  } else {
    const std::uint64_t old =
        space_.has_cpu_atomics(step.width)
            ? gmm::apply_atomic(step.opcode, step.width, target, step.operand,
                                step.compare)
            : gmm::apply_unlocked_atomic(step.opcode, step.width, target,
                                         step.operand, step.compare);
    const auto old_bytes = std::as_bytes(std::span(&old, 1));
    results_.insert(results_.end(), old_bytes.begin(), old_bytes.end());
  }
  ring_if_asked(step);
  return Status::kOk;
}

void Agent::ring_if_asked(const protocol::Step& step) {
  if (has_signal(step)) {
    gmm::ring_signal(*space_.slice_header(space_.my_rank()), waker_);
    has_signal_ = true;
  }
}

void Agent::reply(transport::ProcId to,
                  transport::Color color,
                  std::uint64_t id,
                  Status status,
                  std::uint16_t failed_step) {
  protocol::ReplyHeader header;
  header.id = id;
  header.status = status;
  header.failed_step = failed_step;
  send_reply(to, color, header, {});
}

/// The requests of one initiator come one after the other, so one list is
/// enough: a request of another initiator sends it.
void Agent::add_done(transport::ProcId from,
                     transport::Color color,
                     std::uint64_t id) {
  if (done_.count == done_.ids.size() ||
      (done_.count != 0 && (done_.from != from || done_.color != color))) {
    send_done();
  }
  done_.from = from;
  done_.color = color;
  done_.ids[done_.count++] = id;
}

/// A single request gets an ordinary reply, which has the same size.
void Agent::send_done() {
  if (done_.count == 0) {
    return;
  }
  const auto others = std::as_bytes(std::span(done_.ids).first(done_.count))
                          .subspan(sizeof(std::uint64_t));
  protocol::ReplyHeader header;
  header.type = others.empty() ? protocol::MessageType::kReply
                               : protocol::MessageType::kSharedReply;
  header.data_bytes = static_cast<std::uint32_t>(others.size());
  header.id = done_.ids.front();
  done_.count = 0;
  send_reply(done_.from, done_.color, header, others);
}

/// Sends a reply, or appends it to the backlog behind earlier replies to the
/// same endpoint.
void Agent::send_reply(transport::ProcId to,
                       transport::Color color,
                       protocol::ReplyHeader header,
                       std::span<const std::byte> results) {
  if (backlog_.empty() &&
      try_send(to, color, header, {results}) != Status::kAgain) {
    return;
  }
  queue_to(to, color).replies.push_back(
      {header, {results.begin(), results.end()}, {}});
}

/// The queue of an endpoint in the backlog; a new one if there is none.
Agent::Queue& Agent::queue_to(transport::ProcId to, transport::Color color) {
  const auto found = std::ranges::find_if(backlog_, [&](const Queue& queue) {
    return queue.to == to && queue.color == color;
  });
  return found != backlog_.end() ? *found
                                 : backlog_.emplace_back(Queue{to, color, {}});
}

/// Sends replies until the endpoint is full. True when some were sent.
bool Agent::send_from(Queue& queue) {
  bool has_sent = false;
  while (!queue.replies.empty()) {
    if (try_send(queue, queue.replies.front()) == Status::kAgain) {
      break;
    }
    queue.replies.pop_front();
    has_sent = true;
  }
  return has_sent;
}

/// The program may have unregistered the memory of a large get since then. Such
/// a get becomes a failure without bytes, so that it is logged once.
Status Agent::try_send(const Queue& queue, Waiting& waiting) {
  Results results{waiting.results};
  if (waiting.get) {
    const auto source = source_of(*waiting.get);
    if (source.ok()) {
      results = {source.value(), true};
    } else {
      waiting.header.status = source.status();
      waiting.header.data_bytes = 0;
      waiting.get.reset();
    }
  }
  return try_send(queue.to, queue.color, waiting.header, results);
}

/// Makes `found_` the endpoint of a peer.
Status Agent::find_endpoint(transport::ProcId to, transport::Color color) {
  if (found_.endpoint == nullptr || found_.to != to || found_.color != color) {
    const Result<transport::Endpoint*> endpoint =
        surroundings_.endpoint(to, color);
    if (!endpoint.ok()) {
      return endpoint.status();
    }
    found_ = {to, color, endpoint.value()};
  }
  return Status::kOk;
}

/// kAgain: the endpoint is full. A reply to a dead peer is dropped. A reply
/// that is too large for the transport goes without its results, as a failure.
Status Agent::try_send(transport::ProcId to,
                       transport::Color color,
                       protocol::ReplyHeader header,
                       Results results) {
  if (const Status status = find_endpoint(to, color); status != Status::kOk) {
    return status;
  }
  const auto send = [&] {
    const std::array<std::span<const std::byte>, 2> parts = {
        std::as_bytes(std::span(&header, 1)), results.bytes};
    return results.is_region
               ? found_.endpoint->send_from_region(parts, Ordering::kFree)
               : found_.endpoint->send(parts, Ordering::kFree);
  };
  const Status status = send();
  if (status != Status::kTooLarge || results.bytes.empty()) {
    return status;
  }
  header.status = status;
  header.data_bytes = 0;
  results = {};
  return send();
}

/// One full endpoint must not hold back replies to other peers. Each pass of
/// progress comes here, so a full endpoint is asked only once.
bool Agent::flush() {
  send_done();
  if (backlog_.empty()) {
    return false;
  }
  bool has_sent = false;
  for (Queue& queue : backlog_) {
    has_sent |= send_from(queue);
  }
  std::erase_if(backlog_,
                [](const Queue& queue) { return queue.replies.empty(); });
  return has_sent;
}

void Agent::forget_peer(transport::ProcId peer) {
  if (done_.from == peer) {
    done_.count = 0;
  }
  std::erase_if(backlog_,
                [peer](const Queue& queue) { return queue.to == peer; });
  std::erase_if(failed_,
                [peer](const Failed& failed) { return failed.from == peer; });
}

}  // namespace acp::agent
