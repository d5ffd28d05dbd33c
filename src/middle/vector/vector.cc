// Pushes and the freezing of a vector. Called by vector_api.cc, and by
// sequence.h through FrozenVector. The invariants of vector.h are kept here: a
// push may write only into its own valid reservation, or into a vector that it
// has frozen.
#include "middle/vector/vector.h"

#include "acp/malloc.h"
#include "middle/structure/waiting.h"

namespace acp::middle::vector {

using structure::Backoff;
using structure::Call;
using structure::Chain;
using structure::Kind;
using structure::Scratch;
using structure::Shape;
using structure::Source;
using structure::View;

namespace {

// Numbers of the control's fields.
constexpr std::size_t kBody = 0;
constexpr std::size_t kCapacity = 1;
constexpr std::size_t kPushLimit = 2;
constexpr std::size_t kCommitted = 3;
constexpr std::size_t kOldBody = 4;

/// The word of a push limit: {version + 1:16 | start:48}. 0 is none.
std::uint64_t limit_of(std::uint64_t version, std::uint64_t start) {
  return ((version & Reservations::kVersionMask) + 1) << 48 | start;
}

bool is_limit_of(std::uint64_t limit, std::uint64_t version) {
  return limit >> 48 == (version & Reservations::kVersionMask) + 1;
}

}  // namespace

// ---- FrozenVector ----------------------------------------------------------

Shape FrozenVector::shape_in(const View& view) {
  return {view.field(kBody), view.field(kCapacity), 0, view.field(kCommitted),
          view.field(kOldBody)};
}

void FrozenVector::fields_of(const Shape& shape,
                             std::uint64_t (&fields)[structure::kFields]) {
  fields[kBody] = shape.body;
  fields[kCapacity] = shape.capacity;
  fields[kPushLimit] = 0;
  fields[kCommitted] = shape.size;
  fields[kOldBody] = shape.old_body;
}

void FrozenVector::open(Scratch& scratch) {
  scratch_ = &scratch;
  turn_.want(scratch, call_.queue(), call_.function, call_.handle);
}

bool FrozenVector::begin(Scratch& scratch) {
  open(scratch);
  return freeze(0);
}

bool FrozenVector::begin_growth(std::uint64_t version, std::uint64_t start) {
  return freeze(limit_of(version, start));
}

void FrozenVector::adopt(const View& view) {
  is_frozen_ = true;
  version_ = view.version();
  shape = shape_in(view);
  turn_.take(view.tail());
}

/// Only the first chain writes the push limit. If that chain freezes the
/// vector, the limit is of the frozen version. If another caller froze before,
/// it waits for this limit. If the version has changed by then, no caller reads
/// it.
bool FrozenVector::freeze(std::uint64_t limit) {
  for (;;) {
    scratch_->clear();
    Chain chain(*scratch_);
    if (limit != 0) {
      chain.put8(call_.word(structure::kFieldWord + kPushLimit), limit);
      limit = 0;
    }
    turn_.announce_in(chain);
    const std::uint64_t* old =
        chain.fetch_or8(call_.sync(), Reservations::kFrozen);
    const std::uint64_t* left =
        turn_.is_front()
            ? chain.fetch_and8(call_.sync(), ~Reservations::kQueued)
            : nullptr;
    const View view = View::in(chain, call_);
    if (!chain.run()) {
      return false;
    }
    const Reservations reservations{*old};
    if (!call_.fits(view.tag())) {
      const std::uint64_t tag = view.tag();
      if (call_.is_of_other(tag) && !reservations.is_frozen()) {
        structure::undo_sync(chain, call_, Reservations::kFrozen);
      }
      turn_.give_up();
      return structure::fail_unfit(call_, tag);
    }
    if (!reservations.is_frozen()) {
      adopt(view);
      return wait_for_pushes(reservations.bytes());
    }
    if (left != nullptr && Reservations{*left}.is_queued()) {
      adopt(view);  // no push was valid since it was frozen
      return true;
    }
    if (!turn_.wait(0)) {
      return false;
    }
  }
}

/// Waits until `committed` is what the valid reservations add up to. Valid are
/// all of them, or those below the push limit when one goes beyond the
/// capacity.
bool FrozenVector::wait_for_pushes(std::uint64_t reserved) {
  Backoff backoff(call_.function, call_.handle);
  bool is_limited = reserved <= shape.capacity;
  std::uint64_t valid = reserved;
  if (is_limited && shape.size == valid) {
    return true;
  }
  for (;;) {
    scratch_->clear();
    Chain chain(*scratch_);
    // A get for each word: a larger copy may bring half of a new push limit.
    const std::uint64_t* limit =
        chain.get(call_.word(structure::kFieldWord + kPushLimit), 8);
    const std::uint64_t* committed =
        chain.get(call_.word(structure::kFieldWord + kCommitted), 8);
    if (!chain.run()) {
      return false;
    }
    if (!is_limited && is_limit_of(*limit, version_)) {
      valid = *limit & Reservations::kBytesMask;
      is_limited = true;
    }
    shape.size = *committed;
    if (is_limited && shape.size == valid) {
      return true;
    }
    if (!backoff.pause()) {
      return false;
    }
  }
}

bool FrozenVector::commit() {
  is_frozen_ = false;
  scratch_->clear();
  Chain chain(*scratch_);
  std::uint64_t fields[structure::kFields];
  fields_of(shape, fields);
  structure::write_fields(chain, call_, version_ + 1, fields);
  turn_.leave_in(chain);
  const bool is_left = use_ == Use::kChange && turn_.has_others();
  // A swap and not a put: pushes add to the word at the same time, and try
  // again.
  chain.swap8(
      call_.sync(),
      Reservations::live(version_ + 1, shape.size) |
          (is_left ? Reservations::kFrozen | Reservations::kQueued : 0));
  turn_.look_in(chain);
  if (!chain.run()) {
    return false;
  }
  turn_.pass();
  return true;
}

void FrozenVector::destroy() {
  is_frozen_ = false;
  structure::destroy_control(*scratch_, call_, turn_);
  acp_free(shape.body);
  acp_free(shape.old_body);
}

FrozenVector::~FrozenVector() {
  if (is_frozen_) {
    [[maybe_unused]] const bool is_thawed = commit();
  }
  turn_.give_up();
}

// ---- push_back ------------------------------------------------------------

namespace {

enum class Outcome : std::uint8_t { kDone, kFailed, kAgain };

bool append(FrozenVector& frozen, const Source& source) {
  const std::uint64_t size = frozen.shape.size;
  structure::Block outdated;
  if (!structure::open_gap(frozen.call(), frozen.shape, size, source.bytes(),
                           outdated)) {
    return false;  // the destructor thaws the unchanged vector
  }
  return source.copy_to(frozen.shape.at(size)) && frozen.commit();
}

Outcome outcome_of(bool is_done) {
  return is_done ? Outcome::kDone : Outcome::kFailed;
}

/// Writes the bytes and commits them, in one flight where the source allows it.
/// A push that was the front of the queue leaves it: the vector is not frozen.
bool write(Scratch& scratch,
           const Call& call,
           const Source& source,
           acp_ga_t to,
           structure::Turn& turn) {
  scratch.clear();
  Chain chain(scratch);
  if (!source.add_put(chain, to) && !source.copy_to(to)) {
    return false;
  }
  chain.add8(call.word(structure::kFieldWord + kCommitted), source.bytes());
  turn.leave_in(chain);
  if (!chain.run()) {
    return false;
  }
  turn.pass();
  return true;
}

/// Reserves blindly and reads the fields in the same flight, then writes or
/// grows. A push that finds the vector frozen, or full, waits in the queue. Its
/// front also takes a vector that was left to the queue, and then appends as a
/// change does.
Outcome try_push(Scratch& scratch,
                 const Call& call,
                 const Source& source,
                 FrozenVector& frozen) {
  structure::Turn& turn = frozen.turn();
  scratch.clear();
  Chain chain(scratch);
  turn.announce_in(chain);
  const std::uint64_t* left =
      turn.is_front() ? chain.fetch_and8(call.sync(), ~Reservations::kQueued)
                      : nullptr;
  const std::uint64_t* word = chain.fetch_add8(call.sync(), source.bytes());
  const View view = View::in(chain, call);
  if (!chain.run()) {
    return Outcome::kFailed;
  }
  if (__builtin_expect(!call.fits(view.tag()), 0)) {
    const std::uint64_t tag = view.tag();
    if (call.is_of_other(tag)) {
      structure::undo_sync(chain, call, source.bytes());
    }
    structure::fail_unfit(call, tag);
    return Outcome::kFailed;
  }
  if (left != nullptr && Reservations{*left}.is_queued()) {
    frozen.adopt(view);
    return outcome_of(append(frozen, source));
  }
  const Reservations old{*word};
  if (__builtin_expect(old.is_frozen(), 0)) {
    return turn.wait(0) ? Outcome::kAgain : Outcome::kFailed;
  }
  // Invariant: while a valid reservation is not committed, its version stays.
  if (!view.is_whole() || !old.is_of(view.version())) {
    return Outcome::kAgain;
  }
  const std::uint64_t start = old.bytes();
  const std::uint64_t capacity = view.field(kCapacity);
  if (__builtin_expect(start + source.bytes() <= capacity, 1)) {
    turn.take(view.tail());
    return outcome_of(
        write(scratch, call, source, view.field(kBody) + start, turn));
  }
  if (start <= capacity) {
    return outcome_of(frozen.begin_growth(view.version(), start) &&
                      append(frozen, source));
  }
  return turn.wait(0) ? Outcome::kAgain : Outcome::kFailed;
}

}  // namespace

/// The source is checked or fetched before anything is reserved, because a
/// reservation cannot be given back.
bool push_back(acp_ga_t vector, acp_ga_t ga, std::size_t size) {
  Call call;
  if (!structure::begin_call(call, "acp_push_back_vector", Kind::kVector,
                             vector)) {
    return false;
  }
  Scratch scratch(*call.site);
  Source source;
  if (!source.open(scratch, call, ga, size)) {
    return false;
  }
  if (size == 0) {
    View view{};
    return structure::look(scratch, call, view);
  }
  FrozenVector frozen(call, Use::kPush);
  frozen.open(scratch);
  Outcome outcome = Outcome::kAgain;
  while (outcome == Outcome::kAgain) {
    outcome = try_push(scratch, call, source, frozen);
  }
  return outcome == Outcome::kDone;
}

}  // namespace acp::middle::vector
