// A locked deque, and the pushes, pops and takes at its ends. Called by
// deque_api.cc, and by sequence.h through LockedDeque. Only the thread that
// holds the lock writes to the deque.
#include "middle/deque/deque.h"

#include <algorithm>

#include "acp/malloc.h"

namespace acp::middle::deque {

using structure::Call;
using structure::Chain;
using structure::Scratch;
using structure::Shape;
using structure::Source;
using structure::View;

// ---- LockedDeque -----------------------------------------------------------

Shape LockedDeque::shape_in(const View& view) {
  return {view.field(0), view.field(1), view.field(2), view.field(3),
          view.field(4)};
}

void LockedDeque::fields_of(const Shape& shape,
                            std::uint64_t (&fields)[structure::kFields]) {
  fields[0] = shape.body;
  fields[1] = shape.capacity;
  fields[2] = shape.head;
  fields[3] = shape.size;
  fields[4] = shape.old_body;
}

bool LockedDeque::begin(Scratch& scratch) {
  scratch_ = &scratch;
  View view{};
  if (!lock_.acquire(scratch, view)) {
    return false;
  }
  version_ = view.version();
  shape = shape_in(view);
  return true;
}

bool LockedDeque::commit_with(Chain& chain) {
  std::uint64_t fields[structure::kFields];
  fields_of(shape, fields);
  structure::write_fields(chain, call_, version_ + 1, fields);
  return lock_.release_with(chain);
}

bool LockedDeque::commit() {
  scratch_->clear();
  Chain chain(*scratch_);
  return commit_with(chain);
}

void LockedDeque::destroy() {
  lock_.destroy();
  acp_free(shape.body);
  acp_free(shape.old_body);
}

// ---- The ends -------------------------------------------------------------

/// Locks, makes a gap at the end, and writes bytes, fields and unlocking in one
/// flight.
bool push(const char* function,
          acp_ga_t deque,
          End end,
          acp_ga_t ga,
          std::size_t size) {
  Call call;
  if (!structure::begin_call(call, function, LockedDeque::kKind, deque)) {
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
  LockedDeque locked(call);
  if (!locked.begin(scratch)) {
    return false;
  }
  const std::uint64_t index = end == End::kFront ? 0 : locked.shape.size;
  structure::Block outdated;
  if (!structure::open_gap(call, locked.shape, index, size, outdated)) {
    return false;
  }
  const acp_ga_t to = locked.shape.at(index);
  scratch.clear();
  Chain chain(scratch);
  if (!source.add_put(chain, to) && !source.copy_to(to)) {
    return false;
  }
  return locked.commit_with(chain);
}

bool pop(const char* function, acp_ga_t deque, End end, std::size_t size) {
  Call call;
  if (!structure::begin_call(call, function, LockedDeque::kKind, deque)) {
    return false;
  }
  Scratch scratch(*call.site);
  LockedDeque locked(call);
  if (!locked.begin(scratch)) {
    return false;
  }
  const std::uint64_t bytes = std::min<std::uint64_t>(size, locked.shape.size);
  locked.shape.head += end == End::kFront ? bytes : 0;
  locked.shape.size -= bytes;
  return locked.commit();
}

/// Checks the target before it locks, then reads the bytes and writes the
/// fields in one flight. If the target is not on the caller's rank, the bytes
/// are copied before.
int take(const char* function,
         acp_ga_t deque,
         End end,
         acp_ga_t ga,
         std::size_t size) {
  Call call;
  if (!structure::begin_call(call, function, LockedDeque::kKind, deque)) {
    return -1;
  }
  Scratch scratch(*call.site);
  // Memory that can be read can be written. The check covers other ranks'
  // memory, too.
  Source target;
  if (!target.open(scratch, call, ga, size)) {
    return -1;
  }
  LockedDeque locked(call);
  if (!locked.begin(scratch)) {
    return -1;
  }
  if (size > locked.shape.size) {
    return 0;
  }
  const acp_ga_t from =
      locked.shape.at(end == End::kFront ? 0 : locked.shape.size - size);
  scratch.clear();
  Chain chain(scratch);
  if (target.ga() == ga && size != 0) {
    chain.get_to(from, ga, size);
  } else if (!structure::move_all({{ga, from, size}})) {
    return -1;
  }
  locked.shape.head += end == End::kFront ? size : 0;
  locked.shape.size -= size;
  return locked.commit_with(chain) ? 1 : -1;
}

}  // namespace acp::middle::deque
