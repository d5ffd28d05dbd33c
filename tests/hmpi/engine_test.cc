// The engine of HMPI as a whole: ranks are threads of this process, each with
// an Engine, over one heap, so ThreadSanitizer sees all of the protocol between
// them. Random programs send and receive in every way, with sizes around each
// limit. engine_model.h says which message each receive may get, and every byte
// is compared. ACP_TEST_SEED gives the programs other numbers.
//
// The heap is one for the process, and its lock orders ranks. So each rank
// keeps the buffers of its program, and only those that the engine takes go
// through the lock.
#include "hmpi/engine.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "engine_host.h"
#include "engine_model.h"
#include "hmpi/buffer_pool.h"
#include "hmpi/gate.h"
#include "hmpi/host_memory.h"
#include "support/seeds.h"

namespace hmpi::test {

namespace {

using std::chrono::steady_clock;

#ifdef __SANITIZE_THREAD__
constexpr std::uint32_t kPrograms = 8;
#else
constexpr std::uint32_t kPrograms = 12;
#endif
/// Messages of a program, of all ranks together.
constexpr std::size_t kMessages = 1600;
/// A program that takes longer hangs.
constexpr std::chrono::seconds kLongest{120};
/// A signal that does not come within this time has been lost.
constexpr std::chrono::seconds kLongestSignal{10};
constexpr std::chrono::microseconds kSleep{200};

constexpr std::uint64_t kFirstContext = 0x5eed'0000;
/// A context that no rank knows.
constexpr std::uint64_t kUnknownContext = 0xdead;
/// A context that each rank knows, and never receives from.
constexpr std::uint64_t kLostContext = 0xbeef;

constexpr std::size_t kGuardBytes = 64;
constexpr std::byte kGuard{0xa5};
/// Overwrites the data of a complete send.
constexpr int kOver = 0xee;

/// Ranks, settings and limits of a random program. All its ranks use them.
struct Shape {
  Peer ranks = 2;
  std::uint32_t contexts = 1;
  std::uint32_t tags = 1;
  Settings settings;
  bool has_kernel_fences = false;
  bool has_library_threads = false;
  bool favors_calls = false;
  bool has_twins = false;
  bool floods = false;         ///< Sends so many at once that rings are full.
  std::size_t most_sends = 1;  ///< That a rank has begun, and are not over.
  std::size_t most_receives = 1;  ///< That wait for a message.
  std::size_t pool_bytes = 0;
};

template <typename T>
T one_of(Random& random, std::initializer_list<T> values) {
  return values.begin()[random() % values.size()];
}

/// The number of the program chooses what the program has beside messages, so
/// that eight programs have everything.
Shape shape_of(Random& random, std::uint32_t number) {
  Shape shape;
  shape.ranks = 2 + random() % 3;
  shape.contexts = 1 + random() % 3;
  shape.tags = 1 + random() % 4;
  Settings& settings = shape.settings;
  settings.inline_bytes = one_of<std::size_t>(random, {0, 32, 256, 4096, 8192});
  settings.copy_bytes = one_of<std::size_t>(random, {0, 512, 8192, 8192});
  settings.detach_bytes =
      one_of<std::size_t>(random, {0, 4096, 64 << 10, kMostBytes});
  settings.both_from =
      one_of<std::size_t>(random, {1, 4096, 40'000, 256 << 10});
  settings.kept_bytes =
      one_of<std::size_t>(random, {0, 2000, 40'000, 16 << 20});
  settings.has_kernel_copy = number % 2 == 0;
  settings.has_clock = one_of<bool>(random, {false, true});
  shape.has_kernel_fences = number / 2 % 2 == 0 && Fences::register_process();
  shape.has_library_threads = number % 4 == 3;
  shape.favors_calls = random() % 2 == 0;
  shape.has_twins = number % 3 != 0;
  shape.floods = number / 4 % 2 == 0;
  if (number % 8 == 0) {
    // A rank's messages to itself alone fill a ring.
    shape.ranks = 2;
    settings.inline_bytes = kMostInlineBytes;
    settings.kept_bytes = std::size_t{16} << 20;
  }
  shape.most_sends = one_of<std::size_t>(random, {1, 8, 64});
  shape.most_receives = one_of<std::size_t>(random, {1, 6, 24});
  shape.pool_bytes = one_of<std::size_t>(random, {0, 64 << 10, 8 << 20});
  return shape;
}

std::string text_of(const Shape& shape) {
  const Settings& settings = shape.settings;
  return std::to_string(shape.ranks) + " ranks, inline " +
         std::to_string(settings.inline_bytes) + ", copy " +
         std::to_string(settings.copy_bytes) + ", detach " +
         std::to_string(settings.detach_bytes) + ", both from " +
         std::to_string(settings.both_from) + ", kept " +
         std::to_string(settings.kept_bytes) +
         (settings.has_kernel_copy ? ", kernel copy" : "") +
         (shape.has_kernel_fences ? ", kernel fences" : "") +
         (shape.has_library_threads ? ", library threads" : "") +
         (shape.has_twins ? ", twins" : "") + (shape.floods ? ", floods" : "");
}

/// Mostly short, and around each limit.
std::size_t pick_size(Random& random, const Settings& settings) {
  const auto around = [&random](std::size_t limit) {
    return limit + random() % 3 - std::min<std::size_t>(limit, 1);
  };
  const std::uint32_t choice = random() % 256;
  if (choice < 90) {
    return random() % 64;
  }
  if (choice < 130) {
    return one_of<std::size_t>(random, {0, 1, 31, 32, 33, 95, 96, 97});
  }
  if (choice < 180) {
    return random() % 1100;
  }
  if (choice < 230) {
    return one_of(random,
                  {around(settings.inline_bytes), around(settings.copy_bytes)});
  }
  if (choice < 246) {
    return random() % (std::size_t{40} << 10);
  }
  if (choice < 254) {
    return std::min(kMostBytes, one_of(random, {around(settings.both_from),
                                                around(settings.detach_bytes),
                                                around(kPieceBytes),
                                                around(kBounceBytes)}));
  }
  return one_of<std::size_t>(
      random, {random() % kMostBytes, kMostBytes - 1, kMostBytes});
}

/// `streams[sender][receiver]`.
using Streams = std::vector<std::vector<Stream>>;

Streams plan(Random& random, const Shape& shape) {
  Streams streams(shape.ranks, std::vector<Stream>(shape.ranks));
  for (std::size_t i = 0; i < kMessages; ++i) {
    const Peer sender = random() % shape.ranks;
    const Peer receiver = random() % shape.ranks;
    const auto way = random() % 2 == 0
                         ? one_of(random, {Way::kShort, Way::kStandard})
                         : static_cast<Way>(random() % kWays);
    streams[sender][receiver].push_back(
        {.context = static_cast<std::uint32_t>(random() % shape.contexts),
         .tag = static_cast<std::int32_t>(random() % shape.tags),
         .size = pick_size(random, shape.settings),
         .offset = random() % kPatterns,
         .way = way,
         .is_in_library = random() % 2 == 0});
  }
  return streams;
}

bool is_give(Way way) {
  return way == Way::kGiveBuffer || way == Way::kGiveBlock ||
         way == Way::kGivePart;
}

/// How often each thing has happened.
struct Seen {
  std::uint64_t operations = 0;
  std::uint64_t kept = 0;
  std::uint64_t both = 0;
  std::uint64_t bounced = 0;
  std::uint64_t detached = 0;
  std::uint64_t slept = 0;
  std::uint64_t rung = 0;
  std::uint64_t truncated = 0;
  std::uint64_t withdrawn = 0;
  std::uint64_t faded = 0;
  std::uint64_t taken_below = 0;
  std::uint64_t probed = 0;
  std::uint64_t taken = 0;
  std::uint64_t unexpected = 0;

  void add(const Seen& other) {
    operations += other.operations;
    kept += other.kept;
    both += other.both;
    bounced += other.bounced;
    detached += other.detached;
    slept += other.slept;
    rung += other.rung;
    truncated += other.truncated;
    withdrawn += other.withdrawn;
    faded += other.faded;
    taken_below += other.taken_below;
    probed += other.probed;
    taken += other.taken;
    unexpected += other.unexpected;
  }
};

/// The words that the ranks of a program share beside library memory. All
/// accesses are relaxed, so that they order nothing.
struct Together {
  std::atomic<bool> has_failed = false;
  std::atomic<Peer> finished = 0;
};

/// Counts the claims of a rank's receives. Inside of the gate.
struct Claims {
  std::uint64_t next = 1;  ///< Numbers of matches, in their order.
  std::uint64_t later = 0;
};

/// A receive of a random program, maybe with a twin.
struct RandomReceive final : Receive {
  enum class Twin : std::uint8_t { kNone, kFades, kTakes };

  explicit RandomReceive(Claims& counts) : claims(counts) {}

  Claim claim(bool is_library_thread) override {
    if (twin != Twin::kNone && (is_library_thread || looks != 0)) {
      looks -= is_library_thread ? 0 : 1;
      ++claims.later;
      return Claim::kLater;
    }
    matched_at = claims.next++;
    return twin == Twin::kTakes ? Claim::kTaken : Claim::kMine;
  }

  Claims& claims;
  Twin twin = Twin::kNone;
  unsigned looks = 0;            ///< While the twin's cancel is not decided.
  std::uint64_t matched_at = 0;  ///< 0: not yet.
  std::uint64_t number = 0;      ///< Inbox::post()'s.
  const Planned* planned = nullptr;
  std::byte* room = nullptr;  ///< With guards; null: no buffer of the program.
  std::size_t room_bytes = 0;
  bool is_in_library = false;
};

struct RandomSend final : Send {
  const Planned* planned = nullptr;
  std::byte* room = nullptr;  ///< The data, or null: the engine has them.
};

/// One rank of a random program.
class Rank {
 public:
  Rank(const Shape& shape,
       const Streams& streams,
       const std::vector<Engine::Member>& members,
       Peer me,
       std::uint32_t seed,
       Together& together)
      : shape_(shape),
        streams_(streams),
        me_(me),
        mine_(*members[me].memory),
        together_(together),
        random_(seed),
        engine_(shape.settings, members, me),
        inbox_(streams_to(streams, me)),
        next_(shape.ranks) {
    if (shape.has_kernel_fences) {
      engine_.rely_on_kernel_fences();
    }
    if (shape.favors_calls) {
      gate_.favor_calls();
    }
    for (std::uint32_t i = 0; i < shape.contexts; ++i) {
      contexts_.emplace_back(kFirstContext + i, shape.ranks);
      // Some are known late, so that messages come before.
      add_at_.push_back(random_() % 2 == 0 ? 0 : random_() % 200);
    }
    contexts_.emplace_back(kLostContext, shape.ranks);
    engine_.add(contexts_.back());
    send_weight_ = 1 + random_() % 8;
    receive_weight_ = 1 + random_() % 8;
  }

  void run() {
    std::thread library;
    std::atomic<bool> is_over = false;
    if (shape_.has_library_threads) {
      library = std::thread([&] { visit_until(is_over); });
    }
    const auto end = steady_clock::now() + kLongest;
    while (!is_finished() && !together_.has_failed.load(kRelaxed)) {
      gate_.enter();
      const bool has_moved = step();
      gate_.leave();
      // Each takes a time slice where other programs use all processors.
      idle_steps_ = has_moved ? 0 : idle_steps_ + 1;
      if (idle_steps_ % 32 == 31 || random_() % 128 == 0) {
        ::sched_yield();
      }
      if (++steps_ % 1024 == 0 && steady_clock::now() > end) {
        fail("does not end: " + std::to_string(inbox_.left()) +
             " messages are not received, " + std::to_string(sends_.size()) +
             " sends not complete");
      }
    }
    finish();
    is_over.store(true, kRelaxed);
    if (library.joinable()) {
      library.join();
    }
  }

  /// After all ranks have run.
  void end() {
    if (failure_.empty()) {
      expect(engine_.is_idle() && !engine_.has_kept(), "is not idle");
      expect(engine_.buffered_bytes() == 0, "has copies that nobody waits for");
      const Counters& counters = engine_.counters();
      expect(counters.inline_messages + counters.copied_messages +
                     counters.offered_messages + counters.given_messages ==
                 sent_,
             "has counted other messages than it has sent");
      expect(counters.inline_bytes + counters.copied_bytes +
                     counters.offered_bytes + counters.given_bytes ==
                 sent_bytes_,
             "has counted other bytes than it has sent");
    }
    seen_.unexpected = engine_.counters().unexpected_messages;
    for (Context& context : contexts_) {
      engine_.remove(context);
    }
    for (std::byte* block : parts_) {
      g_host_memory.give_back(block);
    }
  }

  const std::string& failure() const { return failure_; }

  const Seen& seen() const { return seen_; }

 private:
  static constexpr auto kRelaxed = std::memory_order_relaxed;

  static std::vector<const Stream*> streams_to(const Streams& streams,
                                               Peer receiver) {
    std::vector<const Stream*> found;
    for (const std::vector<Stream>& of_sender : streams) {
      found.push_back(&of_sender[receiver]);
    }
    return found;
  }

  void fail(const std::string& what) {
    if (failure_.empty()) {
      failure_ = "rank " + std::to_string(me_) + ": " + what;
    }
    together_.has_failed.store(true, kRelaxed);
  }

  void expect(bool holds, const char* what) {
    if (!holds) {
      fail(what);
    }
  }

  /// The rank in a communicator, which turns the peers.
  std::int32_t source_of(Peer peer, std::uint32_t context) const {
    return static_cast<std::int32_t>((peer + context) % shape_.ranks);
  }

  void visit_until(const std::atomic<bool>& is_over) {
    while (!is_over.load(kRelaxed)) {
      if (gate_.try_visit()) {
        engine_.progress(true);
        gate_.end_visit();
      }
      ::sched_yield();
    }
  }

  bool has_sent_all() const {
    for (Peer peer = 0; peer < shape_.ranks; ++peer) {
      if (next_[peer] < streams_[me_][peer].size()) {
        return false;
      }
    }
    return true;
  }

  /// The library's thread may still be at work.
  bool is_finished() {
    gate_.enter();
    const bool is_over = inbox_.left() == 0 && sends_.empty() &&
                         has_sent_all() && !engine_.has_kept() &&
                         std::ranges::none_of(receives_, [](const auto& each) {
                           return each->matched_at != 0;
                         });
    gate_.leave();
    return is_over;
  }

  /// Withdraws what is left, and goes on until all ranks are over.
  void finish() {
    gate_.enter();
    while (!receives_.empty() && !together_.has_failed.load(kRelaxed)) {
      withdraw(0);
    }
    send_to_nobody();
    gate_.leave();
    together_.finished.fetch_add(1, kRelaxed);
    while (together_.finished.load(kRelaxed) != shape_.ranks &&
           !together_.has_failed.load(kRelaxed)) {
      gate_.enter();
      engine_.progress();
      gate_.leave();
      ::sched_yield();
    }
  }

  /// Messages that no receive gets: the engine keeps them until its end.
  void send_to_nobody() {
    const std::span<const std::byte> data = pattern(me_, 40);
    for (Peer peer = 0; peer < shape_.ranks; ++peer) {
      for (const std::uint64_t context : {kUnknownContext, kLostContext}) {
        const Envelope envelope{.context = context,
                                .source = static_cast<std::int32_t>(me_),
                                .tag = 0,
                                .size = data.size()};
        if (engine_.send_short(peer, envelope, data.data())) {
          ++sent_;
          sent_bytes_ += data.size();
        }
      }
    }
  }

  /// A random operation. Whether it has had an effect.
  bool step() {
    collect();
    for (std::uint32_t i = 0; i < shape_.contexts; ++i) {
      if (steps_ == add_at_[i]) {
        engine_.add(contexts_[i]);
      }
    }
    bool has_moved = false;
    const std::uint32_t choice =
        random_() % (send_weight_ + receive_weight_ + 8);
    if (choice < send_weight_) {
      has_moved = send_some();
    } else if (choice < send_weight_ + receive_weight_) {
      has_moved = post_receive();
    } else {
      switch (choice - send_weight_ - receive_weight_) {
        case 0: has_moved = withdraw_some(); break;
        case 1: has_moved = probe(); break;
        case 2:
          if (random_() % 16 == 0) {
            sleep();
          }
          break;
        case 3: engine_.wake_awaited(); break;
        case 4: detach_some(); break;
        default: has_moved = engine_.progress(random_() % 4 == 0); break;
      }
    }
    look_at_sends();
    collect();
    seen_.kept += engine_.has_kept() ? 1 : 0;
    return has_moved;
  }

  // Sending.

  bool send_some() {
    const Peer peer = random_() % shape_.ranks;
    const Stream& stream = streams_[me_][peer];
    const bool is_flood =
        shape_.floods && (next_[peer] == 0 || random_() % 8 == 0);
    std::size_t count = is_flood ? stream.size() : 1 + random_() % 3;
    bool has_moved = false;
    while (count-- != 0 && next_[peer] < stream.size() &&
           (is_flood || sends_.size() < shape_.most_sends)) {
      send(peer, stream[next_[peer]++]);
      has_moved = true;
    }
    return has_moved;
  }

  void send(Peer peer, const Planned& planned) {
    ++sent_;
    sent_bytes_ += planned.size;
    ++seen_.operations;
    auto made = std::make_unique<RandomSend>();
    RandomSend& send = *made;
    send.peer = peer;
    send.planned = &planned;
    send.envelope = {.context = contexts_[planned.context].id,
                     .source = source_of(me_, planned.context),
                     .tag = planned.tag,
                     .size = planned.size};
    std::byte* data = place_of(send);
    if (planned.size != 0) {
      std::memcpy(data, pattern(planned.offset, planned.size).data(),
                  planned.size);
    }
    if (planned.way == Way::kShort &&
        engine_.send_short(peer, send.envelope, data)) {
      free_room(send);
      return;
    }
    expect(engine_.begin(send), "a send has not begun");
    if (is_give(planned.way)) {
      expect(send.is_complete, "a give is not complete");
    }
    if (send.is_synchronous) {
      expect(!send.is_complete && send.record != nullptr,
             "a synchronous send is complete before its receive");
    }
    if (send.is_complete) {
      free_room(send);
    } else {
      sends_.push_back(std::move(made));
    }
  }

  /// Where the data of a send go, which this also describes.
  std::byte* place_of(RandomSend& send) {
    const Planned& planned = *send.planned;
    const auto take = [](std::size_t bytes) {
      return static_cast<std::byte*>(g_host_memory.take(bytes));
    };
    std::byte* data = nullptr;
    switch (planned.way) {
      case Way::kPackedSynchronous: send.is_synchronous = true; [[fallthrough]];
      case Way::kPackedBlock:
        data = take(planned.size);
        send.block = data;
        return data;
      case Way::kPackedBytes:
        send.staging.reset(
            static_cast<std::byte*>(std::malloc(planned.size + 1)));
        data = send.staging.get();
        break;
      case Way::kGiveBuffer:
      case Way::kGiveBlock:
        send.kind = Kind::kGive;
        data = planned.way == Way::kGiveBlock
                   ? take(planned.size)
                   : static_cast<std::byte*>(g_buffers.take(planned.size));
        g_host_memory.block_at(data)->is_given = 1;
        break;
      case Way::kGivePart:
        send.kind = Kind::kGive;
        parts_.push_back(take(planned.size + 4 * Block::kUnit));
        std::memset(parts_.back(), kOver, planned.size + 4 * Block::kUnit);
        data = parts_.back() + 2 * Block::kUnit + random_() % 2;
        break;
      default:
        send.is_synchronous = planned.way == Way::kSynchronous;
        send.is_buffered = planned.way == Way::kBuffered;
        send.room = buffers_.take(planned.size, planned.is_in_library);
        data = send.room;
        break;
    }
    send.data = data;
    return data;
  }

  /// The send is complete, so its data may change.
  void free_room(RandomSend& send) {
    const Planned& planned = *send.planned;
    if (send.staging != nullptr) {
      std::memset(send.staging.get(), kOver, planned.size);
    }
    if (send.room != nullptr) {
      std::memset(send.room, kOver, planned.size);
      buffers_.give_back(send.room, planned.size, planned.is_in_library);
    }
  }

  void look_at_sends() {
    for (std::size_t i = 0; i < sends_.size();) {
      RandomSend& send = *sends_[i];
      const SendRecord* record = send.record;
      if (record != nullptr) {
        const Offered state = record->state.load(kRelaxed);
        seen_.both += state == Offered::kBoth ? 1 : 0;
        seen_.bounced += state == Offered::kBounce ? 1 : 0;
      }
      if (!engine_.is_complete(send)) {
        ++i;
        continue;
      }
      // The engine uses the record again for a later send only.
      expect(!send.is_synchronous ||
                 record->state.load(kRelaxed) >= Offered::kTaken,
             "a synchronous send is complete before its receive");
      remove_send(i);
    }
  }

  void remove_send(std::size_t i) {
    free_room(*sends_[i]);
    std::swap(sends_[i], sends_.back());
    sends_.pop_back();
  }

  void detach_some() {
    for (std::size_t i = 0; i < sends_.size();) {
      RandomSend& send = *sends_[i];
      if (!send.is_complete && random_() % 2 == 0) {
        engine_.detach(send);
        ++seen_.operations;
        if (send.is_complete) {
          expect(!send.is_synchronous, "a synchronous send is detached");
          ++seen_.detached;
          remove_send(i);
          continue;
        }
      }
      ++i;
    }
  }

  // Receiving.

  /// Describes a receive that fits a message. Null: all have come.
  std::unique_ptr<RandomReceive> make_receive() {
    const std::uint32_t context = random_() % shape_.contexts;
    Peer sender = 0;
    const Planned* planned = inbox_.pick(random_, context, sender);
    if (planned == nullptr || steps_ < add_at_[context]) {
      return nullptr;
    }
    auto made = std::make_unique<RandomReceive>(claims_);
    made->context = &contexts_[context];
    made->peer = random_() % 3 == 0 ? kAnyPeer : sender;
    made->tag = random_() % 3 == 0 ? kAnyTag : planned->tag;
    made->capacity = planned->size;
    switch (random_() % 8) {
      case 0: made->capacity = random_() % (planned->size + 1); break;
      case 1: made->capacity += random_() % 300; break;
      case 2: made->capacity += 5000; break;
      default: break;
    }
    if (shape_.has_twins && random_() % 4 == 0) {
      made->twin = one_of(
          random_, {RandomReceive::Twin::kFades, RandomReceive::Twin::kTakes});
      made->looks = random_() % 4;
    }
    return made;
  }

  /// Guards are in front of the buffer and behind it.
  void give_room(RandomReceive& receive) {
    const std::uint32_t choice = random_() % 8;
    receive.takes_buffer = choice == 0;
    receive.is_packed = choice == 1;
    if (choice < 2) {
      return;
    }
    receive.is_in_library = choice < 5;
    const std::size_t shift = random_() % 16;
    receive.room_bytes = receive.capacity + 2 * kGuardBytes + shift;
    receive.room = buffers_.take(receive.room_bytes, receive.is_in_library);
    std::memset(receive.room, std::to_integer<int>(kGuard), receive.room_bytes);
    receive.buffer = receive.room + kGuardBytes + shift;
  }

  std::uint64_t post(const RandomReceive& receive, std::uint32_t context) {
    ++seen_.operations;
    return inbox_.post(
        {.context = context, .peer = receive.peer, .tag = receive.tag});
  }

  std::uint32_t context_of(const RandomReceive& receive) const {
    return static_cast<std::uint32_t>(receive.context->id - kFirstContext);
  }

  bool post_receive() {
    if (receives_.size() >= shape_.most_receives) {
      return false;
    }
    auto made = make_receive();
    if (made == nullptr) {
      return false;
    }
    RandomReceive& receive = *made;
    receives_.push_back(std::move(made));
    give_room(receive);
    receive.number = post(receive, context_of(receive));
    engine_.begin(receive);
    if (receive.is_matched) {
      receive.matched_at = claims_.next++;
    }
    return true;
  }

  /// MPI_Mprobe and MPI_Mrecv.
  bool probe() {
    auto made = make_receive();
    if (made == nullptr) {
      return false;
    }
    RandomReceive& receive = *made;
    Matching& matching = receive.context->matching;
    UnexpectedMessage* found = matching.probe(receive.peer, receive.tag);
    if (found == nullptr) {
      return false;
    }
    matching.take(*found);
    ++seen_.probed;
    receives_.push_back(std::move(made));
    give_room(receive);
    receive.number = post(receive, context_of(receive));
    receive.matched_at = claims_.next++;
    engine_.fill(receive, static_cast<Arrived&>(*found));
    return true;
  }

  /// All of them at times: a receive may wait for a message that has gone to
  /// another one.
  bool withdraw_some() {
    const bool is_full = receives_.size() >= shape_.most_receives;
    bool has_moved = false;
    for (std::size_t i = 0; i < receives_.size();) {
      if (receives_[i]->matched_at == 0 &&
          random_() % (is_full ? 2 : 16) == 0) {
        withdraw(i);
        has_moved = true;
      } else {
        ++i;
      }
    }
    return has_moved;
  }

  void withdraw(std::size_t i) {
    RandomReceive& receive = *receives_[i];
    expect(engine_.withdraw(receive), "a receive cannot be withdrawn");
    inbox_.withdraw(receive.number);
    ++seen_.withdrawn;
    ++seen_.operations;
    remove_receive(i);
  }

  void remove_receive(std::size_t i) {
    RandomReceive& receive = *receives_[i];
    if (receive.room != nullptr) {
      buffers_.give_back(receive.room, receive.room_bytes,
                         receive.is_in_library);
    }
    receives_.erase(receives_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  /// Looks at the receives that have been matched or are complete.
  void collect() {
    seen_.faded = claims_.later;
    std::vector<RandomReceive*> matched;
    for (const auto& receive : receives_) {
      if (receive->matched_at != 0 && receive->planned == nullptr) {
        matched.push_back(receive.get());
      }
    }
    std::ranges::sort(matched, {}, &RandomReceive::matched_at);
    for (RandomReceive* receive : matched) {
      note_match(*receive);
      if (!failure_.empty()) {
        return;
      }
    }
    for (std::size_t i = 0; i < receives_.size();) {
      RandomReceive& receive = *receives_[i];
      const bool is_below = receive.matched_at != 0 && !receive.is_matched;
      if (!receive.is_complete && !is_below) {
        ++i;
        continue;
      }
      if (receive.is_complete) {
        check(receive);
      }
      remove_receive(i);
    }
  }

  void note_match(RandomReceive& receive) {
    if (!receive.is_matched) {
      expect(receive.twin == RandomReceive::Twin::kTakes,
             "a receive has been claimed, and has no message");
      inbox_.withdraw(receive.number);
      ++seen_.taken_below;
      return;
    }
    const Envelope& envelope = receive.envelope;
    const std::uint32_t context = context_of(receive);
    const auto sender =
        static_cast<Peer>((static_cast<std::uint32_t>(envelope.source) +
                           shape_.ranks - context % shape_.ranks) %
                          shape_.ranks);
    if (envelope.context != receive.context->id) {
      fail("a message of another context");
      return;
    }
    std::string mistake;
    receive.planned =
        inbox_.match(receive.number, sender, context, envelope.tag, mistake);
    if (receive.planned == nullptr) {
      fail(mistake);
      return;
    }
    expect(envelope.size == receive.planned->size,
           "a message has another one's size");
  }

  void check(RandomReceive& receive) {
    const Planned& planned = *receive.planned;
    const std::size_t bytes = std::min(planned.size, receive.capacity);
    seen_.truncated += bytes < planned.size ? 1 : 0;
    expect(receive.received == bytes, "the size of a receive is wrong");
    const std::byte* data = receive.takes_buffer ? receive.given
                            : receive.is_packed  ? receive.staging.get()
                                                 : receive.buffer;
    if (bytes != 0 &&
        std::memcmp(data, pattern(planned.offset, bytes).data(), bytes) != 0) {
      fail("the bytes of a message are wrong: way " +
           std::to_string(static_cast<int>(planned.way)) + ", " +
           std::to_string(bytes) + " of " + std::to_string(planned.size));
    }
    if (receive.room != nullptr) {
      const auto is_guard = [](std::byte byte) {
        return byte == kGuard;
      };
      expect(std::all_of(receive.room, receive.buffer, is_guard),
             "bytes in front of a buffer are written");
      expect(std::all_of(receive.buffer + bytes,
                         receive.room + receive.room_bytes, is_guard),
             "bytes behind a message are written");
    }
    if (receive.takes_buffer) {
      free_taken(receive, bytes);
    }
  }

  void free_taken(const RandomReceive& receive, std::size_t bytes) {
    ++seen_.taken;
    std::memset(receive.given, kOver, bytes);
    Block* block = g_host_memory.block_at(receive.given);
    expect((block == nullptr) == (receive.planned->way == Way::kGivePart),
           "the buffer of a take is none");
    if (block != nullptr) {
      expect(block->is_given == 0, "the buffer of a take is on its way");
      g_buffers.give_back(*block);
    }
  }

  // Sleeping.

  std::uint64_t arrivals() const {
    return claims_.next + claims_.later +
           engine_.counters().unexpected_messages;
  }

  /// Waits for a signal. When a message has come, or the request of a receiver,
  /// there is one, or it has been lost.
  void sleep() {
    if (engine_.progress()) {
      return;
    }
    const std::uint64_t bell = mine_.bell.load(kRelaxed);
    const std::uint64_t attention = mine_.attention.load(kRelaxed);
    const std::uint64_t later = claims_.later;
    engine_.begin_sleep();
    // A message that stays in its ring has signalled before.
    if (!engine_.progress() && claims_.later == later &&
        mine_.attention.load(kRelaxed) == attention) {
      ++seen_.slept;
      const std::uint64_t before = arrivals();
      const bool is_rung = wait_for_bell(bell, kSleep);
      seen_.rung += is_rung ? 1 : 0;
      if (!is_rung) {
        engine_.progress();
        const bool is_wanted =
            arrivals() != before || mine_.attention.load(kRelaxed) != attention;
        expect(!is_wanted || wait_for_bell(bell, kLongestSignal),
               "a signal has been lost");
      }
    }
    engine_.end_sleep();
  }

  /// Outside of the gate.
  bool wait_for_bell(std::uint64_t before, std::chrono::nanoseconds longest) {
    gate_.leave();
    const auto end = steady_clock::now() + longest;
    bool is_rung = false;
    do {
      ::sched_yield();
      is_rung = mine_.bell.load(kRelaxed) != before;
    } while (!is_rung && steady_clock::now() < end &&
             !together_.has_failed.load(kRelaxed));
    gate_.enter();
    return is_rung || together_.has_failed.load(kRelaxed);
  }

  const Shape& shape_;
  const Streams& streams_;
  Peer me_;
  PeerMemory& mine_;
  Together& together_;
  Random random_;
  Engine engine_;
  Gate gate_;
  Inbox inbox_;
  Buffers buffers_;
  Claims claims_;
  std::deque<Context> contexts_;
  std::vector<std::uint64_t> add_at_;  ///< The step at which one is known.
  std::vector<std::size_t> next_;      ///< The next message to each peer.
  std::uint32_t send_weight_ = 0;
  std::uint32_t receive_weight_ = 0;
  std::uint64_t steps_ = 0;
  unsigned idle_steps_ = 0;  ///< In a row.
  std::uint64_t sent_ = 0;
  std::uint64_t sent_bytes_ = 0;
  std::vector<std::unique_ptr<RandomSend>> sends_;
  std::vector<std::unique_ptr<RandomReceive>> receives_;
  std::vector<std::byte*> parts_;  ///< Blocks of which a part was given.
  Seen seen_;
  std::string failure_;
};

/// Runs a random program, and checks what its ranks say.
void run_program(std::uint64_t chosen, std::uint32_t number, Seen& seen) {
  Random random(chosen << 32 | number);
  const Shape shape = shape_of(random, number);
  INFO(text_of(shape));
  const Streams streams = plan(random, shape);
  g_buffers.open(shape.pool_bytes, false);
  std::vector<Engine::Member> members;
  for (Peer rank = 0; rank < shape.ranks; ++rank) {
    members.push_back(member_of(static_cast<int>(rank), new_process()));
  }
  Together together;
  {
    std::deque<Rank> ranks;
    for (Peer rank = 0; rank < shape.ranks; ++rank) {
      ranks.emplace_back(shape, streams, members, rank,
                         static_cast<std::uint32_t>(random()), together);
    }
    std::vector<std::thread> threads;
    for (Rank& rank : ranks) {
      threads.emplace_back([&rank] { rank.run(); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    for (Rank& rank : ranks) {
      rank.end();
    }
    for (const Rank& rank : ranks) {
      INFO(rank.failure());
      CHECK(rank.failure().empty());
      seen.add(rank.seen());
    }
  }
  const std::string fault = clear_heap();
  if (!together.has_failed.load()) {
    INFO(fault);
    CHECK(fault.empty());
  }
}

}  // namespace

TEST_CASE("hmpi engine: random programs get the messages that MPI demands",
          "[hmpi][engine]") {
  const std::uint64_t chosen = acp::test::chosen_seed();
  Seen seen;
  for (std::uint32_t i = 0; i < kPrograms; ++i) {
    INFO("ACP_TEST_SEED=" << chosen << ", program " << i);
    run_program(chosen, i, seen);
  }
  INFO("operations " << seen.operations << ", kept " << seen.kept << ", both "
                     << seen.both << ", bounced " << seen.bounced
                     << ", detached " << seen.detached << ", slept "
                     << seen.slept << ", rung " << seen.rung << ", truncated "
                     << seen.truncated << ", withdrawn " << seen.withdrawn
                     << ", faded " << seen.faded << ", taken below "
                     << seen.taken_below << ", probed " << seen.probed
                     << ", taken " << seen.taken << ", unexpected "
                     << seen.unexpected);
  for (const std::uint64_t count :
       {seen.kept, seen.both, seen.bounced, seen.detached, seen.slept,
        seen.rung, seen.truncated, seen.withdrawn, seen.faded, seen.taken_below,
        seen.probed, seen.taken, seen.unexpected}) {
    CHECK(count != 0);
  }
#ifndef __SANITIZE_THREAD__
  CHECK(seen.operations >= 100'000);
#endif
}

}  // namespace hmpi::test
