// Controls: taking them into use and giving them back, reading fields, locks,
// and the error lines that name the public function. Called by all data
// structures. Words that several ranks change are changed by the library's
// atomics alone.
#include "middle/structure/control.h"

#include <algorithm>
#include <array>

#include "middle/log.h"
#include "middle/structure/late_looks.h"
#include "middle/structure/waiting.h"

namespace acp::middle::structure {

namespace {

/// Handles of the locks that this thread holds. The thread must not wait for
/// one of them: a comparator may call the list that is being sorted.
thread_local std::array<acp_ga_t, 2> t_held{};

constexpr std::uint64_t kNumberMask = 0xffff'ffff;

std::uint64_t tag_of(Kind kind, std::uint64_t generation) {
  return static_cast<std::uint64_t>(kind) << 56 | generation;
}

/// The generation behind that of a tag. Its low six bits number a sync word, so
/// the last values of these bits are left out.
std::uint64_t next_generation(std::uint64_t tag) {
  const std::uint64_t next = (tag + 1) & kNumberMask;
  return (next & kGenerationMask) < kSyncWords
             ? next
             : ((next | kGenerationMask) + 1) & kNumberMask;
}

acp_ga_t pool_of(const Site& site, int rank) {
  return site.memory_of(rank);
}

acp_ga_t control_at(const Site& site, int rank, std::uint64_t number) {
  return pool_of(site, rank) + kControlsOffset + number * kControlBytes;
}

/// Takes a control that was given back. The list's head counts its changes, so
/// a number that comes back is not mistaken for the old one. False: the list is
/// empty, or the job is ending.
bool take_used(Scratch& scratch, int rank, std::uint64_t& number) {
  const acp_ga_t list =
      pool_of(scratch.site(), rank) + offsetof(PoolHeader, free);
  Backoff backoff("the pool of structures", list);
  for (;;) {
    scratch.clear();
    Chain chain(scratch);
    const std::uint64_t* head = chain.get(list, 8);
    if (!chain.run()) {
      return false;
    }
    const std::uint64_t first = *head;
    if ((first & kNumberMask) == 0) {
      acp_errno = ACPX_NO_MEMORY;
      return false;
    }
    number = (first & kNumberMask) - 1;
    const std::uint64_t* link =
        chain.get(control_at(scratch.site(), rank, number) + kFieldWord * 8, 8);
    if (!chain.run()) {
      return false;
    }
    const std::uint64_t changes = (first >> 32) + 1;
    const std::uint64_t* old =
        chain.cas8(list, first, changes << 32 | (*link & kNumberMask));
    if (!chain.run()) {
      return false;
    }
    if (*old == first) {
      return true;
    }
    if (!backoff.pause()) {
      return false;
    }
  }
}

/// Prefers controls that were never used. The longer a control rests, the
/// longer its old handles are recognised as destroyed.
bool take_number(Scratch& scratch, int rank, std::uint64_t& number) {
  const acp_ga_t unused =
      pool_of(scratch.site(), rank) + offsetof(PoolHeader, unused);
  Chain chain(scratch);
  const std::uint64_t* seen = chain.get(unused, 8);
  if (!chain.run()) {
    return false;
  }
  if (*seen < kControls) {
    const std::uint64_t* mine = chain.fetch_add8(unused, 1);
    if (!chain.run()) {
      return false;
    }
    if (*mine < kControls) {
      number = *mine;
      return true;
    }
  }
  return take_used(scratch, rank, number);
}

}  // namespace

const char* name_of(Kind kind) {
  constexpr std::array kNames = {"", "vector", "deque", "list", "set", "map"};
  return kNames[static_cast<std::size_t>(kind)];
}

/// Asks for the rank of the handle, because call.rank may be that of an element
/// or a share.
std::string text_of(const Call& call) {
  return call.handle == ACP_GA_NULL
             ? std::string(call.function)
             : fmt::format("{}({:#x} on rank {})", call.function, call.handle,
                           acp_query_rank(call.handle));
}

void fail_text(const Call& call, int code, const char* text) {
  acp_errno = code;
  log_error("{}: {}", text_of(call), text);
}

void fail_rank(const Call& call, int rank) {
  fail_numbers(call, ACPX_BAD_RANK, "there is no rank {}; ranks are 0 to {}",
               rank, call.site->procs() - 1);
}

void fail_address(const Call& call,
                  int code,
                  const char* what,
                  acp_ga_t address,
                  const char* hint) {
  acp_errno = code;
  log_error("{}: {} {:#x}: {}", text_of(call), what, address, hint);
}

/// Checks only what the handle itself tells. The tag is checked with the first
/// read of the control.
bool begin_call(Call& call, const char* function, Kind kind, acp_ga_t handle) {
  Site* site = Site::of_call(function);
  if (site == nullptr) {
    return false;
  }
  call = {site, function, kind, handle, handle & ~acp_ga_t{63}, -1};
  if (handle != ACP_GA_NULL) {
    const int before = acp_errno;
    call.rank = acp_query_rank(handle);
    acp_errno = before;
  }
  if (call.rank >= 0) {
    const acp_ga_t offset = call.control - control_at(*site, call.rank, 0);
    if (offset < kControls * kControlBytes && offset % kControlBytes == 0 &&
        (handle & kGenerationMask) < kSyncWords) {
      return true;
    }
  }
  acp_errno = ACPX_INVALID_ARGUMENT;
  log_error("{}({:#x}): that is no {}{}", function, handle, name_of(kind),
            handle == ACP_GA_NULL ? ": not created, or not received yet" : "");
  return false;
}

bool fail_unfit(const Call& call, std::uint64_t tag) {
  acp_errno = ACPX_INVALID_ARGUMENT;
  if (call.is_of_other(tag)) {
    log_error("{}({:#x}): that is a {} on rank {}, no {}", call.function,
              call.handle, name_of(static_cast<Kind>(tag >> 56)), call.rank,
              name_of(call.kind));
  } else {
    log_error(
        "{}({:#x}): rank {} has no such {}, or no longer: it was destroyed",
        call.function, call.handle, call.rank, name_of(call.kind));
  }
  return false;
}

/// Repeats the read until both versions are equal.
bool look(Scratch& scratch, const Call& call, View& view) {
  Backoff backoff(call.function, call.handle);
  for (;;) {
    scratch.clear();
    Chain chain(scratch);
    view = View::in(chain, call);
    if (!chain.run()) {
      return false;
    }
    if (__builtin_expect(!call.fits(view.tag()), 0)) {
      return fail_unfit(call, view.tag());
    }
    if (__builtin_expect(view.is_whole(), 1)) {
      return true;
    }
    if (!backoff.pause()) {
      return false;
    }
  }
}

void write_fields(Chain& chain,
                  const Call& call,
                  std::uint64_t version,
                  const std::uint64_t (&fields)[kFields]) {
  chain.put8(call.word(kBeginWord), version);
  chain.put_words(call.word(kFieldWord), fields, kFields);
  chain.put8(call.word(kEndWord), version);
}

/// Order: sync words, fields, the live sync word, and the tag last. An
/// operation with a stale handle finds a dead sync word or a tag that does not
/// fit.
acp_ga_t create_control(Scratch& scratch,
                        const char* function,
                        Kind kind,
                        int rank,
                        std::uint64_t live_sync,
                        const std::uint64_t (&fields)[kFields]) {
  Call call{&scratch.site(), function, kind, ACP_GA_NULL, ACP_GA_NULL, rank};
  std::uint64_t number = 0;
  if (!take_number(scratch, rank, number)) {
    if (acp_errno == ACPX_NO_MEMORY) {
      log_error("{}: rank {} has {} structures already: destroy some", function,
                rank, kControls);
    }
    return ACP_GA_NULL;
  }
  call.control = control_at(scratch.site(), rank, number);
  scratch.clear();
  Chain chain(scratch);
  const std::uint64_t* old_tag = chain.get(call.control, 8);
  if (!chain.run()) {
    return ACP_GA_NULL;
  }
  const std::uint64_t generation = next_generation(*old_tag);
  call.handle = call.control + (generation & kGenerationMask);
  const bool is_first = *old_tag == 0;
  if (is_first) {
    std::uint64_t sync[kSyncWords];
    std::fill_n(sync, kSyncWords, kDeadSync);
    chain.put_words(call.word(kSyncWord), sync, kSyncWords);
  }
  write_fields(chain, call, kFirstVersion, fields);
  chain.swap8(call.sync(), live_sync);
  chain.put8(call.control, tag_of(kind, generation));
  return chain.run() ? call.handle : ACP_GA_NULL;
}

void undo_sync(Chain& chain, const Call& call, std::uint64_t added) {
  chain.add8(call.sync(), 0 - added);
  const std::uint64_t* front =
      chain.get(call.queue() + offsetof(WaitQueue, front), 8);
  if (chain.run()) {
    wake_front(*call.site, *front);
  }
}

/// Clears the tag, makes the sync word dead, then puts the control into the
/// list of free ones. A waiter that is woken finds another tag, leaves the
/// queue, and makes the next one the front.
void destroy_control(Scratch& scratch, const Call& call, Turn& turn) {
  scratch.clear();
  Chain chain(scratch);
  const std::uint64_t* tag = chain.get(call.control, 8);
  if (!chain.run()) {
    return;
  }
  // The tag goes first: a waiter that finds the word locked then sees that the
  // structure is gone, and stops waiting.
  chain.put8(call.control, *tag & kNumberMask);
  turn.leave_in(chain);
  chain.swap8(call.sync(), kDeadSync);
  turn.look_in(chain);
  if (!chain.run()) {
    return;
  }
  turn.pass();
  const acp_ga_t list =
      pool_of(*call.site, call.rank) + offsetof(PoolHeader, free);
  const std::uint64_t number =
      (call.control - control_at(*call.site, call.rank, 0)) / kControlBytes;
  Backoff backoff(call.function, call.handle);
  do {
    scratch.clear();
    const std::uint64_t* head = chain.get(list, 8);
    if (!chain.run()) {
      return;
    }
    const std::uint64_t first = *head;
    chain.put8(call.word(kFieldWord), first & kNumberMask);
    const std::uint64_t* old =
        chain.cas8(list, first, ((first >> 32) + 1) << 32 | (number + 1));
    if (!chain.run() || *old == first) {
      return;
    }
  } while (backoff.pause());
}

// ---- Lock -----------------------------------------------------------------

bool Lock::is_mine_already() const {
  return t_held[0] == call_.handle || t_held[1] == call_.handle;
}

/// One flight: takes the lock if it may, and reads the control. The front of
/// the queue also takes a lock that was left to the queue. `holder` is then 0.
/// False: the chain did nothing.
bool Lock::try_once(View& view, Extra* extra, std::uint64_t& holder) {
  scratch_->clear();
  Chain chain(*scratch_);
  turn_.announce_in(chain);
  const std::uint64_t* free = chain.cas8(call_.sync(), 0, me());
  const std::uint64_t* left =
      turn_.is_front() ? chain.cas8(call_.sync(), kForQueue, me()) : free;
  view.words = chain.get(call_.control, kReadBytes);
  view.begin = view.words + kBeginWord;
  view.end = view.words + kEndWord;
  if (extra != nullptr) {
    extra->words = chain.get_cleared(extra->from, extra->bytes);
  }
  if (!chain.run()) {
    return false;
  }
  const bool is_taken = *free == 0 || (left != free && *left == kForQueue);
  holder = is_taken ? 0 : std::max<std::uint64_t>(*free, 1);
  return true;
}

/// Locks blindly and reads the control in the same flight. If the tag does not
/// fit, the lock belonged to another structure and is released.
bool Lock::acquire(Scratch& scratch, View& view, Extra* extra) {
  if (__builtin_expect(is_mine_already(), 0)) {
    fail_text(call_, ACPX_INVALID_ARGUMENT,
              "called from a comparator of an operation on the same list");
    return false;
  }
  scratch_ = &scratch;
  turn_.want(scratch, call_.queue(), call_.function, call_.handle);
  for (;;) {
    std::uint64_t holder = 0;
    if (!try_once(view, extra, holder)) {
      if (extra == nullptr || is_end_of_job(acp_errno)) {
        return false;
      }
      static constexpr std::uint64_t kNothing[Extra::kMostBytes / 8] = {};
      // The address could not be read, so the chain did nothing. The next try
      // leaves it out.
      extra->words = kNothing;
      extra = nullptr;
      continue;
    }
    const std::uint64_t tag = view.tag();
    if (holder == 0) {
      hold(view);
    }
    if (__builtin_expect(!call_.fits(tag), 0)) {
      is_held_ ? release() : turn_.give_up();
      return fail_unfit(call_, tag);
    }
    if (__builtin_expect(holder == 0, 1)) {
      return true;
    }
    if (!turn_.wait(holder)) {
      return false;
    }
  }
}

void Lock::hold(const View& view) {
  is_held_ = true;
  t_held[t_held[0] == 0 ? 0 : 1] = call_.handle;
  turn_.take(view.tail());
}

bool Lock::release_with(Chain& chain) {
  turn_.leave_in(chain);
  chain.add8(call_.sync(), turn_.unlocked() - me());
  turn_.look_in(chain);
  forget();
  if (!chain.run()) {
    return false;
  }
  turn_.pass();
  return true;
}

void Lock::release() {
  if (!is_held_) {
    return;
  }
  if (!turn_.is_front()) {
    Chain chain(*scratch_);
    chain.add8(call_.sync(), turn_.unlocked() - me());
    if (call_.site->late_looks().post(chain, turn_.front_word(),
                                      Sending::kNow)) {
      forget();
      return;
    }
  }
  scratch_->clear();
  Chain chain(*scratch_);
  [[maybe_unused]] const bool is_done = release_with(chain);
}

void Lock::destroy() {
  destroy_control(*scratch_, call_, turn_);
  forget();
}

void Lock::forget() {
  is_held_ = false;
  t_held[t_held[0] == call_.handle ? 0 : 1] = 0;
}

}  // namespace acp::middle::structure
