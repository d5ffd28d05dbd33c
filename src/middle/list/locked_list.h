// A list that the caller has locked, and its change. docs/containers.md,
// "List", has the protocol.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "middle/list/elements.h"
#include "middle/structure/bytes.h"
#include "middle/structure/control.h"

namespace acp::middle::list {

/// The fields of a list's control. Plain value.
struct Ends {
  Link head;
  Link tail;
  std::uint64_t count = 0;

  static Ends in(const structure::View& view) {
    return {{view.field(0), view.field(1)},
            {view.field(2), view.field(3)},
            view.field(4)};
  }
};

/// Elements that follow each other, and their two neighbours.
struct Run {
  Link before;
  Link first;
  Link last;
  Link after;
  std::uint64_t count = 0;
};

/// One element as a walk has found it.
struct Node {
  acp_ga_t element = ACP_GA_NULL;
  std::uint64_t size = 0;
  Link next;                        ///< The link in memory.
  Link prev;                        ///< The link in memory.
  acp_ga_t readable = ACP_GA_NULL;  ///< The data, on the caller's rank.
  bool is_copy = false;             ///< `readable` is a copy, which is freed.

  Link link() const { return {element, size}; }

  acp_element_t value() const { return {readable, size}; }
};

using Nodes = std::vector<Node>;

/// Frees the copies that a walk has made.
void free_copies(Nodes& nodes);

/// Whether a walk also copies the data of elements on other ranks to the
/// caller's rank.
enum class Data : std::uint8_t { kLeave, kBring };

/// A list that the caller has locked. Changes are collected in `ends` and
/// `writes`; commit() writes them and unlocks. Used by one thread. False:
/// failed, which is reported; the list is unchanged, or the job is ending.
class LockedList {
 public:
  explicit LockedList(const structure::Call& call)
      : call_(call), scratch_(*call.site), lock_(call) {}

  /// Locks the list. The header of `element` is read in the same flight if it
  /// is on the control's rank.
  [[nodiscard]] bool begin(acp_ga_t element = ACP_GA_NULL);

  const structure::Call& call() const { return call_; }

  structure::Scratch& scratch() { return scratch_; }

  /// Reads the header of an element. False: the element is not in this list
  /// (reported).
  [[nodiscard]] bool read(acp_ga_t element, Header& header);

  /// Finds the elements from `first` up to `end`, without `end` itself.
  /// ACP_GA_NULL as `end` is the end of the list. False also when `end` does
  /// not come (reported).
  [[nodiscard]] bool walk(Link first, acp_ga_t end, Data data, Nodes& nodes);

  /// The run that one node, or all nodes of a walk, make.
  static Run run_of(const Node& node);
  static Run run_of(const Nodes& nodes);

  void unlink(const Run& run);
  /// Links a run in between run.before and run.after.
  void link(const Run& run);
  /// Makes the nodes, in this order, the whole list. Links that are right
  /// already are not written.
  void set_order(const Nodes& nodes);

  /// Writes the changes, then unlocks. False: the job is ending.
  [[nodiscard]] bool commit();
  /// Destroys the control. The caller has erased the elements' list words
  /// before.
  void destroy();

  /// The control's fields, as read by begin() and as written by commit().
  Ends ends;
  Writes writes;

 private:
  bool bring(Node& node);

  const structure::Call call_;
  structure::Scratch scratch_;
  // begin() writes these.
  std::uint64_t version_ = 0;  ///< The fields' version.
  /// The element whose header was read with the lock; null: none.
  acp_ga_t read_ahead_ = ACP_GA_NULL;
  Header header_ahead_{};
  structure::Lock lock_;
};

}  // namespace acp::middle::list
