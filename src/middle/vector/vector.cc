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

/// Undoes an addition to the sync word of a structure that is no vector. That
/// word is a lock, whose changes are additions too, so they commute.
void undo(Chain& chain, const Call& call, std::uint64_t added) {
  chain.add8(call.sync(), 0 - added);
  [[maybe_unused]] const bool is_done = chain.run();
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

bool FrozenVector::begin(Scratch& scratch) {
  return freeze(scratch, 0);
}

bool FrozenVector::begin_growth(Scratch& scratch,
                                std::uint64_t version,
                                std::uint64_t start) {
  return freeze(scratch, limit_of(version, start));
}

/// Only the first chain writes the push limit. If that chain freezes the
/// vector, the limit is of the frozen version. If another caller froze before,
/// it waits for this limit. If the version has changed by then, no caller reads
/// it.
bool FrozenVector::freeze(Scratch& scratch, std::uint64_t limit) {
  scratch_ = &scratch;
  Backoff backoff(call_.function, call_.handle);
  for (;;) {
    scratch.clear();
    Chain chain(scratch);
    if (limit != 0) {
      chain.put8(call_.word(structure::kFieldWord + kPushLimit), limit);
      limit = 0;
    }
    const std::uint64_t* old =
        chain.fetch_or8(call_.sync(), Reservations::kFrozen);
    const View view = View::in(chain, call_);
    if (!chain.run()) {
      return false;
    }
    const Reservations reservations{*old};
    if (!call_.fits(view.tag())) {
      if (call_.is_of_other(view.tag()) && !reservations.is_frozen()) {
        undo(chain, call_, Reservations::kFrozen);
      }
      return structure::fail_unfit(call_, view.tag());
    }
    if (!reservations.is_frozen()) {
      is_frozen_ = true;
      version_ = view.version();
      shape = shape_in(view);
      return wait_for_pushes(reservations.bytes());
    }
    if (!backoff.pause(0)) {
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
    const std::uint64_t* fields =
        chain.get(call_.word(structure::kFieldWord), structure::kFields * 8);
    if (!chain.run()) {
      return false;
    }
    if (!is_limited && is_limit_of(fields[kPushLimit], version_)) {
      valid = fields[kPushLimit] & Reservations::kBytesMask;
      is_limited = true;
    }
    shape.size = fields[kCommitted];
    if (is_limited && shape.size == valid) {
      return true;
    }
    if (!backoff.pause(0)) {
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
  // A swap and not a put: pushes add to the word at the same time, and try
  // again.
  chain.swap8(call_.sync(), Reservations::live(version_ + 1, shape.size));
  return chain.run();
}

void FrozenVector::destroy() {
  is_frozen_ = false;
  structure::destroy_control(*scratch_, call_);
  acp_free(shape.body);
  acp_free(shape.old_body);
}

FrozenVector::~FrozenVector() {
  if (is_frozen_) {
    [[maybe_unused]] const bool is_thawed = commit();
  }
}

// ---- push_back ------------------------------------------------------------

namespace {

enum class Outcome : std::uint8_t { kDone, kFailed, kAgain };

/// Waits until the version of a reservation that is not valid has gone.
bool wait_for_next(Scratch& scratch, const Call& call, Reservations old) {
  Backoff backoff(call.function, call.handle);
  for (;;) {
    scratch.clear();
    Chain chain(scratch);
    const std::uint64_t* word = chain.get(call.sync(), 8);
    const std::uint64_t* tag = chain.get(call.word(structure::kTagWord), 8);
    if (!chain.run()) {
      return false;
    }
    if (!call.fits(*tag)) {
      return true;  // destroyed: the next try reports it
    }
    const Reservations now{*word};
    if (!now.is_frozen() && (old.is_frozen() || !now.is_of(old.word >> 48))) {
      return true;
    }
    if (!backoff.pause(0)) {
      return false;
    }
  }
}

bool append(FrozenVector& frozen, const Source& source) {
  const std::uint64_t size = frozen.shape.size;
  structure::Block outdated;
  if (!structure::open_gap(frozen.call(), frozen.shape, size, source.bytes(),
                           outdated)) {
    return false;  // the destructor thaws the unchanged vector
  }
  return source.copy_to(frozen.shape.at(size)) && frozen.commit();
}

bool grow(Scratch& scratch,
          const Call& call,
          const Source& source,
          std::uint64_t version,
          std::uint64_t start) {
  FrozenVector frozen(call);
  return frozen.begin_growth(scratch, version, start) && append(frozen, source);
}

/// Writes the bytes and commits them, in one flight where the source allows it.
bool write(Scratch& scratch,
           const Call& call,
           const Source& source,
           acp_ga_t to) {
  scratch.clear();
  Chain chain(scratch);
  if (!source.add_put(chain, to) && !source.copy_to(to)) {
    return false;
  }
  chain.add8(call.word(structure::kFieldWord + kCommitted), source.bytes());
  return chain.run();
}

/// Reserves blindly and reads the fields in the same flight, then writes,
/// grows, or waits for the next version.
Outcome try_push(Scratch& scratch, const Call& call, const Source& source) {
  scratch.clear();
  Chain chain(scratch);
  const std::uint64_t* word = chain.fetch_add8(call.sync(), source.bytes());
  const View view = View::in(chain, call);
  if (!chain.run()) {
    return Outcome::kFailed;
  }
  if (__builtin_expect(!call.fits(view.tag()), 0)) {
    if (call.is_of_other(view.tag())) {
      undo(chain, call, source.bytes());
    }
    structure::fail_unfit(call, view.tag());
    return Outcome::kFailed;
  }
  const Reservations old{*word};
  if (__builtin_expect(old.is_frozen(), 0)) {
    return wait_for_next(scratch, call, old) ? Outcome::kAgain
                                             : Outcome::kFailed;
  }
  // Invariant: while a valid reservation is not committed, its version stays.
  if (!view.is_whole() || !old.is_of(view.version())) {
    return Outcome::kAgain;
  }
  const std::uint64_t start = old.bytes();
  const std::uint64_t capacity = view.field(kCapacity);
  if (__builtin_expect(start + source.bytes() <= capacity, 1)) {
    return write(scratch, call, source, view.field(kBody) + start)
               ? Outcome::kDone
               : Outcome::kFailed;
  }
  if (start <= capacity) {
    return grow(scratch, call, source, view.version(), start)
               ? Outcome::kDone
               : Outcome::kFailed;
  }
  return wait_for_next(scratch, call, old) ? Outcome::kAgain : Outcome::kFailed;
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
  Outcome outcome = Outcome::kAgain;
  while (outcome == Outcome::kAgain) {
    outcome = try_push(scratch, call, source);
  }
  return outcome == Outcome::kDone;
}

}  // namespace acp::middle::vector
