// The control block that each vector, deque, list, set and map has on one
// rank: its handle, its tag, its fields and the word that orders changes.
// docs/containers.md has the layout.
#pragma once

#include <cstddef>
#include <cstdint>

#include "middle/structure/chain.h"
#include "middle/structure/site.h"

namespace acp::middle::structure {

/// In tags. 0 is a control that nobody uses.
enum class Kind : std::uint8_t { kVector = 1, kDeque, kList, kSet, kMap };

const char* name_of(Kind kind);

inline constexpr std::size_t kFields = 5;
inline constexpr std::uint64_t kDeadSync = std::uint64_t{1} << 63;
/// Not 0: a vector's sync word, which has it, shall not look like a free lock.
inline constexpr std::uint64_t kFirstVersion = 1;

/// Words of a control.
inline constexpr std::size_t kTagWord = 0;
inline constexpr std::size_t kBeginWord = 1;  ///< Version.
inline constexpr std::size_t kFieldWord = 2;
inline constexpr std::size_t kEndWord = 7;  ///< Version.
inline constexpr std::size_t kSyncWord = 8;
inline constexpr std::size_t kSyncWords = 64;  ///< As generations in a handle.

/// A call under way: who called what with which structure. Plain value.
struct Call {
  Site* site = nullptr;
  const char* function = "";
  Kind kind{};
  acp_ga_t handle = ACP_GA_NULL;   ///< The program's.
  acp_ga_t control = ACP_GA_NULL;  ///< Its first byte.
  int rank = -1;                   ///< Where it is.

  acp_ga_t word(std::size_t index) const { return control + index * 8; }

  acp_ga_t sync() const {
    return word(kSyncWord + (handle & (kSyncWords - 1)));
  }

  /// Whether the tag is of this handle.
  bool fits(std::uint64_t tag) const {
    return tag >> 56 == static_cast<std::uint64_t>(kind) && is_current(tag);
  }

  /// Whether the handle is of something else that lives: a blind first step
  /// changed its sync word, and has to be undone.
  bool is_of_other(std::uint64_t tag) const {
    return tag >> 56 != 0 && is_current(tag) && !fits(tag);
  }

 private:
  bool is_current(std::uint64_t tag) const {
    return (tag & 63) == (handle & 63);
  }
};

/// Sets acp_errno and writes a line "function(handle): text".
void fail_text(const Call& call, int code, const char* text);
/// "offset a: the vector has b bytes" and the like.
void fail_numbers(const Call& call,
                  int code,
                  const char* what,
                  long long a,
                  const char* of,
                  unsigned long long b);
/// "no memory at 0x1: hint".
void fail_address(const Call& call,
                  int code,
                  const char* what,
                  acp_ga_t address,
                  const char* hint);

/// Takes a handle apart; false when it can be none, which is reported.
bool begin_call(Call& call, const char* function, Kind kind, acp_ga_t handle);

/// Reports a handle that does not fit the tag: of a structure that was
/// destroyed, or of another kind. False always.
bool fail_unfit(const Call& call, std::uint64_t tag);

/// A control's words as one chain read them.
struct View {
  const std::uint64_t* end;
  const std::uint64_t* words;
  const std::uint64_t* begin;

  /// Adds the steps.
  static View in(Chain& chain, const Call& call) {
    View view{};
    view.end = chain.get(call.word(kEndWord), 8);
    view.words = chain.get(call.control, 64);
    view.begin = chain.get(call.word(kBeginWord), 8);
    return view;
  }

  std::uint64_t tag() const { return words[kTagWord]; }

  std::uint64_t field(std::size_t index) const {
    return words[kFieldWord + index];
  }

  std::uint64_t version() const { return *begin; }

  /// Whether the fields are those of version().
  bool is_whole() const { return *begin == *end; }
};

/// Reads the fields of one version. False: destroyed (reported), or the job is
/// ending. The view lies in the scratch.
[[nodiscard]] bool look(Scratch& scratch, const Call& call, View& view);

/// Adds the writing of fields as the next version.
void write_fields(Chain& chain,
                  const Call& call,
                  std::uint64_t version,
                  const std::uint64_t (&fields)[kFields]);

/// Takes a control of a rank into use. Returns the handle, or ACP_GA_NULL,
/// which is reported as the failure of `function`.
acp_ga_t create_control(Scratch& scratch,
                        const char* function,
                        Kind kind,
                        int rank,
                        std::uint64_t live_sync,
                        const std::uint64_t (&fields)[kFields]);

/// Ends a control whose sync word the caller holds.
void destroy_control(Scratch& scratch, const Call& call);

/// A lock, for kinds whose sync word is one. Not the vector.
class Lock {
 public:
  explicit Lock(const Call& call) : call_(call) {}

  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  ~Lock() { release(); }

  /// Memory of the control's rank that is read behind the lock, in the same
  /// flight. Words are 0 when they cannot be read.
  struct Extra {
    static constexpr std::size_t kMostBytes = 64;

    acp_ga_t from;
    std::size_t bytes;
    const std::uint64_t* words;  ///< Result, in the scratch.
  };

  /// Waits for the lock; then `view` is what the control has. False: destroyed
  /// or locked by this thread (reported), or the job is ending.
  [[nodiscard]] bool acquire(Scratch& scratch,
                             View& view,
                             Extra* extra = nullptr);

  /// Adds the unlocking to a chain; the lock is held until that is applied.
  void release_in(Chain& chain);

  /// Unlocks when it is held; does not wait.
  void release();

  /// It is not to be unlocked any more.
  void forget();

  bool is_held() const { return is_held_; }

 private:
  bool is_mine_already() const;

  const Call call_;
  bool is_held_ = false;
};

}  // namespace acp::middle::structure
