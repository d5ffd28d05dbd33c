// The control: the block that each vector, deque, list, set and map has on one
// rank. It has the tag, the version, the fields and the sync word that orders
// changes. docs/containers.md shows the layout.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "middle/structure/chain.h"
#include "middle/structure/site.h"
#include "middle/structure/wait_queue.h"

namespace acp::middle::structure {

/// The structure's kind, as tags have it. A tag of kind 0 is of a free control.
enum class Kind : std::uint8_t { kVector = 1, kDeque, kList, kSet, kMap };

const char* name_of(Kind kind);

inline constexpr std::size_t kFields = 5;
inline constexpr std::uint64_t kDeadSync = std::uint64_t{1} << 63;
/// The first version is not 0: a vector's sync word contains it and must not
/// look like a free lock.
inline constexpr std::uint64_t kFirstVersion = 1;

/// Numbers of the words of a control.
inline constexpr std::size_t kTagWord = 0;
inline constexpr std::size_t kBeginWord = 1;  ///< Version.
inline constexpr std::size_t kFieldWord = 2;
inline constexpr std::size_t kEndWord = 7;    ///< Version.
inline constexpr std::size_t kQueueWord = 8;  ///< A WaitQueue of two words.
inline constexpr std::size_t kSyncWord = 10;
/// A handle counts as many generations, in its low six bits.
inline constexpr std::size_t kSyncWords = 62;
/// Words that an operation reads when it locks: all but the sync words.
inline constexpr std::size_t kReadBytes = kSyncWord * 8;

static_assert((kSyncWord + kSyncWords) * 8 == kControlBytes);

/// The bits of a handle, and of a tag, that have the generation.
inline constexpr std::uint64_t kGenerationMask = 63;

/// A call of a public function that is under way. Plain value.
struct Call {
  Site* site = nullptr;
  const char* function = "";
  Kind kind{};
  acp_ga_t handle = ACP_GA_NULL;   ///< The handle that the program gave.
  acp_ga_t control = ACP_GA_NULL;  ///< First byte of the control.
  int rank = -1;                   ///< The control's rank.

  acp_ga_t word(std::size_t index) const { return control + index * 8; }

  acp_ga_t sync() const { return word(kSyncWord + (handle & kGenerationMask)); }

  acp_ga_t queue() const { return word(kQueueWord); }

  /// Whether the tag is that of the structure which the handle names.
  bool fits(std::uint64_t tag) const {
    return tag >> 56 == static_cast<std::uint64_t>(kind) && is_current(tag);
  }

  /// Whether the control now belongs to a live structure of another kind. Then
  /// the first, blind step of this call has changed its sync word and must be
  /// undone.
  bool is_of_other(std::uint64_t tag) const {
    return tag >> 56 != 0 && is_current(tag) && !fits(tag);
  }

 private:
  bool is_current(std::uint64_t tag) const {
    return (tag & kGenerationMask) == (handle & kGenerationMask);
  }
};

/// "function(handle on rank N)", or "function" while it makes the structure.
std::string text_of(const Call& call);
/// Sets acp_errno and writes a line "function(handle on rank N): text".
void fail_text(const Call& call, int code, const char* text);

/// Sets acp_errno and writes a line like that of fail_text. Numbers stand in
/// the place of each "{}" of the text, which is a sentence.
template <typename... Numbers>
void fail_numbers(const Call& call,
                  int code,
                  fmt::format_string<Numbers...> text,
                  Numbers&&... numbers) {
  fail_text(call, code,
            fmt::format(text, std::forward<Numbers>(numbers)...).c_str());
}

/// Sets acp_errno to ACPX_BAD_RANK and writes a line that names the ranks of
/// the job.
void fail_rank(const Call& call, int rank);
/// Sets acp_errno and writes a line like "no memory at 0x1: hint".
void fail_address(const Call& call,
                  int code,
                  const char* what,
                  acp_ga_t address,
                  const char* hint);

/// Decodes a handle. False: it cannot be a handle of this kind (reported).
bool begin_call(Call& call, const char* function, Kind kind, acp_ga_t handle);

/// Reports a handle that does not fit the tag, because its structure was
/// destroyed or is of another kind. Always false.
bool fail_unfit(const Call& call, std::uint64_t tag);

/// A control's words as one chain has read them.
///
/// 1. A writer writes the begin version, the fields, then the end version.
/// 2. A reader reads the end version, all words, then the begin version.
/// 3. So the fields are those of one version when both versions are equal.
struct View {
  const std::uint64_t* end;
  const std::uint64_t* words;
  const std::uint64_t* begin;

  /// Adds the reading steps to a chain.
  static View in(Chain& chain, const Call& call) {
    View view{};
    view.end = chain.get(call.word(kEndWord), 8);
    view.words = chain.get(call.control, kReadBytes);
    view.begin = chain.get(call.word(kBeginWord), 8);
    return view;
  }

  std::uint64_t tag() const { return words[kTagWord]; }

  std::uint64_t field(std::size_t index) const {
    return words[kFieldWord + index];
  }

  std::uint64_t version() const { return *begin; }

  /// WaitQueue::tail.
  std::uint64_t tail() const { return words[kQueueWord]; }

  /// Whether all fields are of version().
  bool is_whole() const { return *begin == *end; }
};

/// Reads the fields of one version into the scratch. False: the structure was
/// destroyed (reported), or the job is ending.
[[nodiscard]] bool look(Scratch& scratch, const Call& call, View& view);

/// Adds the steps that write the fields as the next version.
void write_fields(Chain& chain,
                  const Call& call,
                  std::uint64_t version,
                  const std::uint64_t (&fields)[kFields]);

/// Takes a control of a rank into use and returns the handle. Returns
/// ACP_GA_NULL when that fails, which is reported as a failure of `function`.
acp_ga_t create_control(Scratch& scratch,
                        const char* function,
                        Kind kind,
                        int rank,
                        std::uint64_t live_sync,
                        const std::uint64_t (&fields)[kFields]);

/// Undoes an addition to the sync word of a structure of another kind. That
/// word is a lock, whose changes are additions and comparisons: a waiter may
/// have found it taken, and is woken.
void undo_sync(Chain& chain, const Call& call, std::uint64_t added);

/// Gives a control back. The caller has its sync word locked or frozen, by
/// `turn`. Waiters then find that the structure is gone.
void destroy_control(Scratch& scratch, const Call& call, Turn& turn);

/// The lock of a structure, kept in its sync word: 0, the holder's rank + 1, or
/// kForQueue. A vector has none. Used by one thread.
class Lock {
 public:
  explicit Lock(const Call& call) : call_(call) {}

  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  ~Lock() { release(); }

  /// Memory on the control's rank that is read in the flight that takes the
  /// lock. The words are 0 when it cannot be read.
  struct Extra {
    static constexpr std::size_t kMostBytes = 64;

    acp_ga_t from;
    std::size_t bytes;
    const std::uint64_t* words;  ///< Result, in the scratch.
  };

  /// Waits for the lock; `view` is then the control's content. False: the
  /// structure was destroyed or this thread has the lock already (both
  /// reported), or the job is ending.
  [[nodiscard]] bool acquire(Scratch& scratch,
                             View& view,
                             Extra* extra = nullptr);

  /// Adds the unlocking to a chain, runs the chain, and tells the next waiter.
  /// Takes up to kReleaseSteps steps. False: the job is ending.
  [[nodiscard]] bool release_with(Chain& chain);

  static constexpr std::size_t kReleaseSteps = 4;

  /// Unlocks if the lock is held. Does not wait for the step, unless this
  /// thread has waited for the lock.
  void release();

  /// Destroys the control, and with it the lock.
  void destroy();

 private:
  bool is_mine_already() const;
  bool try_once(View& view, Extra* extra, std::uint64_t& holder);
  void hold(const View& view);
  void forget();

  std::uint64_t me() const {
    return static_cast<std::uint64_t>(call_.site->rank()) + 1;
  }

  const Call call_;
  // acquire() writes these. Unlocking clears is_held_.
  Scratch* scratch_ = nullptr;
  Turn turn_;
  bool is_held_ = false;
};

}  // namespace acp::middle::structure
