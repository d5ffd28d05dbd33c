// Assign, merge and move of sets and maps. Called by table_api.h. They walk the
// source without locks and use the operations on one element, so other ranks
// may use both tables meanwhile. They may not lock a bucket themselves.
#include "middle/table/copies.h"

#include "middle/table/table.h"

namespace acp::middle::table {

using structure::Call;
using structure::Scratch;
using structure::View;

namespace {

/// Calls `work` for each element of an extent. False: `work` or the walk
/// failed.
template <typename Work>
bool visit(const Call& call, Extent extent, Work work) {
  Walk walk(call, extent);
  if (!walk.begin()) {
    return false;
  }
  while (walk.next()) {
    if (!walk.found().is_there) {
      return true;
    }
    if (!work(walk)) {
      return false;
    }
  }
  return false;
}

bool is_there(const Call& call) {
  Scratch scratch(*call.site);
  View view{};
  return structure::look(scratch, call, view);
}

/// Removes an element of `to` unless `from` has its key.
bool retain_one(const Call& to, const Call& from, Walk& walk) {
  Walk::Copy copy;
  if (!walk.copy(copy, Walk::Part::kKey)) {
    return false;
  }
  Found found;
  return !copy.is_there ||  // removed meanwhile
         (find(from, copy.pair.first, found) &&
          (found.is_there || remove(to, copy.pair.first) != Removal::kFailed));
}

/// Removes the elements of an extent of `to` whose keys `from` does not have.
///
/// Elements that get a new value afterwards stay. All ranks may assign their
/// shares at the same time, and a key may belong to one rank in `from` and to
/// another in `to`. The first rank only inserts keys of `from`, the second only
/// removes keys that `from` lacks. They never change the same key, whatever
/// their order.
bool retain(const Call& to, const Call& from, Extent extent) {
  return visit(to, extent,
               [&](Walk& walk) { return retain_one(to, from, walk); });
}

bool copy_one(const Call& to, const Call& from, Walk& walk, CopyMode how) {
  Walk::Copy copy;
  if (!walk.copy(copy, Walk::Part::kPair)) {
    return false;
  }
  if (!copy.is_there) {
    return true;  // removed meanwhile
  }
  const acp_pair_t pair = copy.pair;
  const Outcome outcome =
      insert(to, pair.first, pair.second,
             how == CopyMode::kAssign ? Present::kReplace : Present::kKeep);
  const bool is_moved = how == CopyMode::kMove && outcome == Outcome::kInserted;
  return outcome != Outcome::kFailed &&
         (!is_moved || remove(from, pair.first) != Removal::kFailed);
}

}  // namespace

bool copy_elements(const Call& to,
                   const Call& from,
                   Extent extent,
                   CopyMode how) {
  if (!is_there(to) || !is_there(from) ||
      (how == CopyMode::kAssign && !retain(to, from, extent))) {
    return false;
  }
  return visit(from, extent,
               [&](Walk& walk) { return copy_one(to, from, walk, how); });
}

}  // namespace acp::middle::table
