// The messages between the processes of a host: rings, matching, and the copy
// of data. docs/hmpi.md has the protocols.
//
// One thread at a time, inside of the gate. No function waits for another
// process.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "acp.h"
#include "hmpi/fence.h"
#include "hmpi/host_memory.h"
#include "hmpi/operation.h"
#include "hmpi/ring.h"
#include "hmpi/settings.h"

namespace hmpi {

/// Processes of a host at most. In a larger one all messages pass through.
inline constexpr std::size_t kMostPeers = 1024;

/// The memory of a process that all processes of its host see, at first zero.
struct alignas(64) PeerMemory {
  /// Its threads that sleep, and want a signal when a message arrives.
  std::atomic<std::uint64_t> sleeps = 0;
  /// Counts the requests of receivers to its sends (kBoth, kBounce).
  std::atomic<std::uint64_t> attention = 0;
  alignas(64) std::atomic<std::uint64_t> bell = 0;  ///< Signals go here.
  /// Which peers have a ring to it.
  alignas(64) std::array<std::atomic<std::uint64_t>, kMostPeers / 64> ringing{};
  /// The ring from each peer: its address there, 0 for none.
  std::array<std::atomic<std::uint64_t>, kMostPeers> rings{};
};

/// Counts the messages that this process sends, by the way of their data; and,
/// with Settings::has_clock, the time that it takes to copy those that it
/// receives.
struct Counters {
  std::uint64_t inline_messages = 0;
  std::uint64_t inline_bytes = 0;
  std::uint64_t inline_nanoseconds = 0;
  std::uint64_t copied_messages = 0;  ///< At once, into library memory.
  std::uint64_t copied_bytes = 0;
  std::uint64_t copied_nanoseconds = 0;
  std::uint64_t offered_messages = 0;
  std::uint64_t offered_bytes = 0;
  std::uint64_t offered_nanoseconds = 0;
  std::uint64_t given_messages = 0;
  std::uint64_t given_bytes = 0;
  std::uint64_t given_nanoseconds = 0;
  std::uint64_t unexpected_messages = 0;
};

class Engine {
 public:
  /// A process of the host, by its rank in the job.
  struct Member {
    int rank = 0;
    PeerMemory* memory = nullptr;    ///< Where it is mapped here.
    acp_ga_t address = ACP_GA_NULL;  ///< The memory's.
    /// Added to an address there, gives the address here.
    std::uint64_t shift = 0;
    std::int64_t process = 0;         ///< Its number for the kernel.
    std::uint64_t probe_address = 0;  ///< A word in its private memory.
    std::uint64_t probe_word = 0;     ///< The word: a kernel's copy finds it.
  };

  /// `members` in one order in all processes; `me` is the place of this
  /// process.
  Engine(const Settings& settings, const std::vector<Member>& members, Peer me);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  std::size_t peers() const noexcept { return peers_.size(); }

  Peer me() const noexcept { return me_; }

  const Counters& counters() const noexcept { return counters_; }

  const Settings& settings() const noexcept { return settings_; }

  /// All processes of the host have registered with Fences.
  void rely_on_kernel_fences() noexcept { fences_.rely_on_kernel(); }

  /// Whether all processes of the host can read this memory.
  bool is_in_library(const void* address, std::size_t bytes) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return at - library_begin_ < library_bytes_ &&
           bytes <= library_bytes_ - (at - library_begin_);
  }

  /// Matches messages of this context from now on. Earlier messages are kept
  /// for its receives.
  void add(Context& context);
  /// Messages of this context that no receive has got are lost.
  void remove(Context& context);

  /// Sends a short message that needs no Send: it is complete, and the data
  /// need not stay. False, and nothing has changed: it is too long, or has to
  /// wait.
  bool send_short(Peer peer, const Envelope& envelope, const std::byte* data);
  /// Begins a send. `send` and its data stay in place until it is complete.
  /// False, and nothing has begun: a buffered send finds no memory for its
  /// copy.
  [[nodiscard]] bool begin(Send& send);
  /// Begins a receive, which stays in place until it is complete.
  void begin(Receive& receive);
  /// Gives a message that Matching::take() has taken to a receive.
  void fill(Receive& receive, Arrived& message);

  /// Withdraws a receive that is not matched. False: it is.
  bool withdraw(Receive& receive);

  /// Goes on with all messages, without waiting. Whether a message has moved.
  bool progress(bool is_library_thread = false);

  /// Whether a send is complete. The engine then knows nothing of it.
  bool is_complete(Send& send);

  /// Completes a send that is not received yet, if there is memory for a copy.
  void detach(Send& send);

  /// Bytes of buffered sends that are not received yet.
  std::size_t buffered_bytes() {
    reclaim(left_.size());
    return buffered_bytes_;
  }

  /// Wakes the peers, or their library's threads, that have to go on with
  /// messages of this process.
  void wake_awaited();

  /// Between these two, peers wake this process after each message.
  void begin_sleep() noexcept;
  void end_sleep() noexcept;

  /// Whether no message needs this process: no receive is posted, and all data
  /// that it has sent are where their receivers find them.
  bool is_idle() const noexcept {
    return posted_ == 0 && kept_messages_ == 0 && offered_.empty() &&
           copying_.empty();
  }

  /// Whether messages wait for room.
  bool has_kept() const noexcept { return kept_messages_ != 0; }

  /// Whether progress() has to be called soon again, although no peer wakes
  /// this process.
  bool has_steps_left() const noexcept {
    return has_kept() || !copying_.empty();
  }

  /// Whether messages wait for what other processes do.
  bool awaits_peers() const noexcept {
    return has_kept() || !offered_.empty() || !copying_.empty();
  }

 private:
  /// A message that waits for room in its ring.
  struct Kept {
    Message message;
    Bytes copy;             ///< A copy of inline data; or null.
    Send* owner = nullptr;  ///< The send that completes with it; or null.
  };

  enum class KernelCopy { kUnknown, kWorks, kRefused };

  struct Partner : Member {
    RingMemory* out_memory = nullptr;
    std::optional<RingWriter> out;
    RingMemory* in_memory = nullptr;
    std::optional<RingReader> in;
    std::deque<Kept> kept;
    std::size_t kept_bytes = 0;
    /// Inline bytes sent to it, and received from it, in all.
    std::uint64_t sent = 0;
    /// A count of the sent bytes that its receives have got. It may be old.
    std::uint64_t sent_matched = 0;
    std::uint64_t matched = 0;
    std::uint64_t matched_told = 0;
    KernelCopy kernel_copy = KernelCopy::kUnknown;
  };

  /// A copy that a complete send has left, until its receiver has it.
  struct Left {
    SendRecord* record;
    void* block;
    std::size_t bytes;
    bool is_buffered;  ///< Whether MPI_Bsend has left it.
  };

  void find_library() noexcept;
  std::byte* here(const Partner& partner, std::uint64_t address) const noexcept;
  SendRecord* find_record(Peer peer, std::uint64_t address) const noexcept;
  SendRecord& record_of(Peer peer, std::uint64_t address);
  /// Ends the job if `bytes` at `address` are not library memory.
  void check_library(Peer peer, const void* address, std::size_t bytes) const;
  [[noreturn]] void end_by_overwritten(Peer peer, const char* what) const;

  void wake(Peer peer);
  void wake_sleeper(Peer peer);

  // Sending.
  bool write(Partner& partner, const Message& message);
  bool ask_for_room(Partner& partner, const Message& message);
  bool open_ring(Peer peer);
  void post(Send& send, const Message& message);
  void offer(Send& send, const void* data, bool is_in_library);
  bool copy_and_offer(Send& send);
  void leave(Send& send);
  bool is_short(Partner& partner, std::size_t bytes) const noexcept;
  void count_short(Partner& partner, std::size_t bytes) noexcept;
  bool has_record();
  SendRecord* new_record();
  bool flush(Peer peer);
  void reclaim(std::size_t looks);
  bool serve(Send& send);
  bool serve_all();

  // Receiving.
  void find_ring(Peer peer);
  bool drain(Peer peer, bool is_library_thread);
  void fetch_ahead(Peer peer, const Message& message) const noexcept;
  Context* find_context(std::uint64_t id) noexcept;
  bool accept(Peer peer, const Message& message, bool is_library_thread);
  static std::unique_ptr<Arrived> copy_of(Peer peer, const Message& message);
  void match(Receive& receive, Peer peer, const Message& message);
  std::uint64_t* clock_of(Kind kind, std::size_t bytes) noexcept;
  void deliver(Receive& receive, Peer peer, const Message& message);
  void take_given(Receive& receive, Peer peer, std::uint64_t address);
  void take_offer(Receive& receive, Peer peer, const Message& message);
  bool take(Receive& receive);
  void end_copy(Receive& receive);
  bool read_private(Peer peer,
                    std::uint64_t from,
                    std::byte* to,
                    std::size_t bytes);
  bool can_read_private(Peer peer);
  bool go_on(Receive& receive);
  bool copy_with_sender(Receive& receive);
  bool copy_bounced(Receive& receive);
  void drop(Arrived& arrived);
  void tell_matched(Partner& partner, std::size_t bytes);
  void ask_attention(Partner& partner);

  Settings settings_;
  Fences fences_;
  Peer me_;
  PeerMemory* mine_ = nullptr;
  std::vector<Partner> peers_;
  std::uintptr_t library_begin_ = 0;
  std::size_t library_bytes_ = 0;
  std::unordered_map<std::uint64_t, Context*> contexts_;
  Context* last_context_ = nullptr;  ///< The last drained message's.
  /// Messages of contexts that are not known here yet, by context.
  std::unordered_map<std::uint64_t, std::deque<std::unique_ptr<Arrived>>>
      early_;
  std::size_t kept_messages_ = 0;
  std::size_t posted_ = 0;  ///< Receives that are listed.
  std::deque<Left> left_;
  std::size_t left_bytes_ = 0;
  std::size_t buffered_bytes_ = 0;  ///< Left by MPI_Bsend.
  List<Send> offered_;              ///< Sends whose record is not done.
  std::vector<Receive*> copying_;   ///< Receives that copy in steps.
  std::uint64_t attention_seen_ = 0;
  std::vector<SendRecord*> free_records_;
  Counters counters_;
};

}  // namespace hmpi
