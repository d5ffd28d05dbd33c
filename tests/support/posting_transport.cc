// Implements PostingTransport, which posts steps to a hub and leaves messages
// to the library's transport. The transport suite and the engine tests use it.
#include "support/posting_transport.h"

#include <deque>
#include <random>
#include <vector>

#include "base/assert.h"
#include "gmm/memory_ops.h"

namespace acp::test {

namespace {

using protocol::Opcode;
using transport::ProcId;
using transport::RemoteStep;

constexpr std::size_t kMaxPosted = 5000;

std::byte* address_of(const transport::Region& region, std::uint64_t offset) {
  return region.address -
         (reinterpret_cast<std::uintptr_t>(region.address) &
          (transport::kOffsetAlignment - 1)) +
         offset;
}

class PostingTransport;

class PostingEndpoint final : public transport::Endpoint {
 public:
  PostingEndpoint(PostingTransport& transport,
                  transport::Endpoint& inner,
                  ProcId peer)
      : transport_(transport), inner_(inner), peer_(peer) {}

  Status send(std::span<const std::span<const std::byte>> parts,
              transport::Ordering ordering) override;

  Status post(std::span<const RemoteStep> steps, std::uint64_t token) override;

  /// All chains of a process are executed in order, so these need no care.
  Status post_behind(std::span<const RemoteStep> steps,
                     std::uint64_t token) override {
    return post(steps, token);
  }

  Status post_then_send(
      std::span<const RemoteStep> steps,
      std::uint64_t token,
      std::span<const std::span<const std::byte>> message) override;

 private:
  PostingTransport& transport_;
  transport::Endpoint& inner_;
  ProcId peer_;
};

/// Passes on what arrives. tsan learns here that a message comes after all that
/// its sender had done: PostingEndpoint::send has looked at the hub before it.
class OrderedSink final : public transport::MessageSink {
 public:
  OrderedSink(transport::MessageSink& sink, PostingHub& hub)
      : sink_(sink), hub_(hub) {}

  void on_message(ProcId from,
                  transport::Color color,
                  std::span<const std::byte> bytes) override {
    hub_.look();
    sink_.on_message(from, color, bytes);
  }

  void on_posted_done(std::uint64_t token) override {
    sink_.on_posted_done(token);
  }

  void on_peer_failed(ProcId peer, std::string_view why) override {
    sink_.on_peer_failed(peer, why);
  }

 private:
  transport::MessageSink& sink_;
  PostingHub& hub_;
};

class PostingTransport final : public transport::Transport {
 public:
  PostingTransport(std::unique_ptr<transport::Transport> inner,
                   std::shared_ptr<PostingHub> hub,
                   ProcId me,
                   std::string fabric)
      : inner_(std::move(inner)),
        hub_(std::move(hub)),
        me_(me),
        fabric_(std::move(fabric)),
        random_(me + 1),
        capabilities_(inner_->capabilities()) {
    capabilities_.max_posted = kMaxPosted;
    capabilities_.orders_posts = true;
    capabilities_.executes_atomics =
        hub_->atomics() == PostedAtomics::kDisagree;
  }

  std::string_view name() const noexcept override { return "posting"; }

  const transport::Capabilities& capabilities() const noexcept override {
    return capabilities_;
  }

  std::string fabric() const override { return fabric_; }

  PostingHub& hub() const noexcept { return *hub_; }

  Result<transport::Endpoint*> endpoint(ProcId peer,
                                        transport::Color color) override {
    hub_->note_endpoint({me_, peer});
    const auto inner = inner_->endpoint(peer, color);
    if (!inner.ok()) {
      return inner.status();
    }
    auto& mine = endpoints_[{peer, color}];
    if (mine == nullptr) {
      mine = std::make_unique<PostingEndpoint>(*this, *inner.value(), peer);
    }
    return mine.get();
  }

  /// Always refuses steps that no device could execute. A quarter of all other
  /// chains is refused or put off at random: callers have to cope with both.
  Status post(ProcId peer,
              std::span<const RemoteStep> steps,
              std::uint64_t token) {
    bool is_possible = true;
    bool is_mine_alone = false;
    for (const RemoteStep& step : steps) {
      const bool is_atomic = protocol::is_atomic(step.opcode);
      const bool has_width = !is_atomic || step.width == 8;
      is_possible = is_possible && step.flags == 0 && has_width;
      is_mine_alone = is_mine_alone || (is_atomic && has_width &&
                                        capabilities_.executes_atomics);
    }
    if (!is_possible) {
      return Status::kUnsupported;
    }
    const std::uint32_t dice = random_() % 8;
    if (dice < 2) {
      // kUnsupported would make the engine send the atomic as a message, which
      // fails if this transport alone executes atomics.
      return dice == 0 && !(is_mine_alone && steps.size() == 1)
                 ? Status::kUnsupported
                 : Status::kAgain;
    }
    if (!hub_->begin(me_, peer, steps)) {
      return Status::kUnsupported;
    }
    chains_.push_back({peer, token, {steps.begin(), steps.end()}});
    return Status::kOk;
  }

  /// Like post(). The message goes by `endpoint` after the steps have been
  /// executed, before or after their completion is reported.
  Status post_then_send(transport::Endpoint& endpoint,
                        ProcId peer,
                        std::span<const RemoteStep> steps,
                        std::uint64_t token,
                        std::span<const std::span<const std::byte>> message) {
    const Status status = post(peer, steps, token);
    if (status == Status::kOk) {
      chains_.back().endpoint = &endpoint;
      for (const std::span<const std::byte> part : message) {
        std::vector<std::byte>& bytes = chains_.back().message;
        bytes.insert(bytes.end(), part.begin(), part.end());
      }
    }
    return status;
  }

  std::size_t poll(transport::MessageSink& sink) override {
    OrderedSink ordered(sink, *hub_);
    std::size_t count = inner_->poll(ordered);
    while (!chains_.empty() && random_() % 3 != 0) {
      hub_->run(me_, chains_.front().peer, chains_.front().steps);
      done_.push_back(std::move(chains_.front()));
      chains_.pop_front();
      send_messages();
    }
    while (!done_.empty() && done_.front().endpoint == nullptr &&
           random_() % 3 != 0) {
      const std::uint64_t token = done_.front().token;
      done_.pop_front();
      sink.on_posted_done(token);
      ++count;
    }
    send_messages();
    return count;
  }

  void flush() override { inner_->flush(); }

  void flush_idle() override { inner_->flush_idle(); }

  void on_registered(const transport::Region& region) override {
    hub_->add(me_, region);
  }

  bool on_unregistered(std::uint32_t key, std::uint64_t state) override {
    return hub_->remove(me_, key, state);
  }

  void forget_regions() override { hub_->forget(me_); }

  TimePoint next_deadline() const noexcept override {
    return is_idle() ? inner_->next_deadline() : TimePoint{};
  }

  std::span<const int> descriptors() const noexcept override {
    return inner_->descriptors();
  }

  bool arm() override { return inner_->arm() && is_idle(); }

  void disarm() override { inner_->disarm(); }

 private:
  struct Chain {
    ProcId peer;
    std::uint64_t token;
    std::vector<RemoteStep> steps;
    std::vector<std::byte> message{};
    transport::Endpoint* endpoint = nullptr;  ///< Null: no message is to go.
  };

  bool is_idle() const { return chains_.empty() && done_.empty(); }

  /// Sends the messages of executed chains, as far as there is room.
  void send_messages() {
    for (Chain& chain : done_) {
      const std::span<const std::byte> part = chain.message;
      if (chain.endpoint != nullptr &&
          chain.endpoint->send({&part, 1}, transport::Ordering::kFree) !=
              Status::kAgain) {
        chain.endpoint = nullptr;
      }
    }
  }

  std::unique_ptr<transport::Transport> inner_;
  std::shared_ptr<PostingHub> hub_;
  ProcId me_;
  std::string fabric_;
  std::mt19937 random_;
  transport::Capabilities capabilities_;
  std::map<std::pair<ProcId, transport::Color>,
           std::unique_ptr<PostingEndpoint>>
      endpoints_;
  std::deque<Chain> chains_;  ///< Not executed yet.
  std::deque<Chain> done_;    ///< Executed; completion or message to come.
};

/// Looks at the hub first, for tsan, which does not see the order that sockets
/// give: OrderedSink looks when the message has arrived.
Status PostingEndpoint::send(std::span<const std::span<const std::byte>> parts,
                             transport::Ordering ordering) {
  transport_.hub().look();
  return inner_.send(parts, ordering);
}

Status PostingEndpoint::post(std::span<const RemoteStep> steps,
                             std::uint64_t token) {
  return transport_.post(peer_, steps, token);
}

Status PostingEndpoint::post_then_send(
    std::span<const RemoteStep> steps,
    std::uint64_t token,
    std::span<const std::span<const std::byte>> message) {
  return transport_.post_then_send(inner_, peer_, steps, token, message);
}

}  // namespace

void PostingHub::add(ProcId proc, const transport::Region& region) {
  const std::lock_guard lock(mutex_);
  entries_.insert({{proc, region.key}, {region}});
}

void PostingHub::note_endpoint(const Pair& ends) {
  const std::lock_guard lock(mutex_);
  endpoints_.insert(ends);
}

std::set<PostingHub::Pair> PostingHub::endpoints() {
  const std::lock_guard lock(mutex_);
  return endpoints_;
}

bool PostingHub::remove(ProcId proc, std::uint32_t key, std::uint64_t state) {
  const std::lock_guard lock(mutex_);
  const auto [begin, end] = entries_.equal_range({proc, key});
  for (auto at = begin; at != end; ++at) {
    Entry& entry = at->second;
    if (entry.region.state == state) {
      entry.is_live = false;
      if (entry.flights != 0) {
        return false;
      }
      entries_.erase(at);
      return true;
    }
  }
  return true;
}

void PostingHub::forget(ProcId proc) {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_,
                [proc](const auto& each) { return each.first.first == proc; });
}

PostingHub::Entry* PostingHub::find(ProcId proc,
                                    std::uint32_t key,
                                    std::uint64_t state,
                                    std::uint64_t mask) {
  const auto [begin, end] = entries_.equal_range({proc, key});
  for (auto at = begin; at != end; ++at) {
    if (((at->second.region.state ^ state) & mask) == 0) {
      return &at->second;
    }
  }
  return nullptr;
}

std::vector<PostingHub::Ends> PostingHub::ends_of(
    ProcId from, ProcId to, std::span<const RemoteStep> steps) {
  std::vector<Ends> found;
  for (const RemoteStep& step : steps) {
    Ends ends;
    ends.far = find(to, step.key, step.state, step.state_mask);
    const auto [begin, end] = entries_.equal_range({from, step.local_key});
    for (auto at = begin; at != end && step.local_memory != nullptr; ++at) {
      const transport::Region& region = at->second.region;
      const bool is_inside = step.local_memory >= region.address &&
                             step.local_memory < region.address + region.size;
      if (is_inside && (at->second.is_live || at->second.flights != 0)) {
        ends.near = &at->second;
      }
    }
    found.push_back(ends);
  }
  return found;
}

/// Checks all steps before it counts a flight: a refused chain leaves nothing
/// behind.
bool PostingHub::begin(ProcId from,
                       ProcId to,
                       std::span<const RemoteStep> steps) {
  const std::lock_guard lock(mutex_);
  const std::vector<Ends> all = ends_of(from, to, steps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Ends& ends = all[i];
    if (ends.far == nullptr || !ends.far->is_live ||
        (ends.near == nullptr) != (steps[i].local_memory == nullptr)) {
      return false;
    }
    const transport::Region& region = ends.far->region;
    const std::byte* at = address_of(region, steps[i].offset);
    const std::uint64_t bytes = protocol::bytes_at_remote(steps[i]);
    const bool is_aligned = !protocol::is_atomic(steps[i].opcode) ||
                            (reinterpret_cast<std::uintptr_t>(at) & 7) == 0;
    if (at < region.address || bytes > region.size || !is_aligned ||
        at - region.address >
            static_cast<std::ptrdiff_t>(region.size - bytes)) {
      return false;
    }
  }
  for (const Ends& ends : all) {
    ++ends.far->flights;
    if (ends.near != nullptr) {
      ++ends.near->flights;
    }
  }
  return true;
}

/// Executes the steps in order, like a queue pair. The flights that begin()
/// counted end here, so remove() cannot have erased the entries before.
void PostingHub::run(ProcId from,
                     ProcId to,
                     std::span<const RemoteStep> steps) {
  const std::lock_guard lock(mutex_);
  const std::vector<Ends> all = ends_of(from, to, steps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const RemoteStep& step = steps[i];
    ACP_ASSERT(all[i].far != nullptr &&
               (all[i].near != nullptr || step.local_memory == nullptr));
    std::byte* at = address_of(all[i].far->region, step.offset);
    if (step.opcode == Opcode::kPut) {
      gmm::copy_bytes(at, step.local_memory, step.size);
    } else if (step.opcode == Opcode::kGet) {
      gmm::copy_bytes(step.local_memory, at, step.size);
    } else if (step.opcode == Opcode::kPut8) {
      gmm::store_word(at, 8, step.operand);
    } else {
      const std::uint64_t old =
          atomics_ == PostedAtomics::kAgree
              ? gmm::apply_atomic(step.opcode, 8, at, step.operand,
                                  step.compare)
              : gmm::apply_unlocked_atomic(step.opcode, 8, at, step.operand,
                                           step.compare);
      if (step.local_memory != nullptr) {
        gmm::store_word(step.local_memory, 8, old);
      }
    }
    --all[i].far->flights;
    if (all[i].near != nullptr) {
      --all[i].near->flights;
    }
  }
}

std::unique_ptr<transport::Transport> make_posting_transport(
    std::unique_ptr<transport::Transport> transport,
    std::shared_ptr<PostingHub> hub,
    ProcId me,
    std::string fabric) {
  return std::make_unique<PostingTransport>(
      std::move(transport), std::move(hub), me, std::move(fabric));
}

}  // namespace acp::test
