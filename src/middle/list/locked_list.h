// A list that the caller has locked, and its change. docs/containers.md,
// "List".
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "middle/list/elements.h"
#include "middle/structure/bytes.h"
#include "middle/structure/control.h"

namespace acp::middle::list {

/// What a list's control says. Plain value.
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

/// Elements in a row, and what is around them.
struct Run {
  Link before;
  Link first;
  Link last;
  Link after;
  std::uint64_t count = 0;
};

/// One element as a walk found it.
struct Node {
  acp_ga_t element = ACP_GA_NULL;
  std::uint64_t size = 0;
  Link next;                        ///< As it is in memory.
  Link prev;                        ///< As it is in memory.
  acp_ga_t readable = ACP_GA_NULL;  ///< Its data on the caller's rank.
  bool is_copy = false;             ///< `readable` is a block of its own.

  Link link() const { return {element, size}; }

  acp_element_t value() const { return {readable, size}; }
};

using Nodes = std::vector<Node>;

/// Frees the copies that a walk made.
void free_copies(Nodes& nodes);

/// Whether a walk brings data to where the caller can read it.
enum class Data : std::uint8_t { kLeave, kBring };

/// One thread. Failures are reported; false then, and the list is as it was,
/// or the job is ending.
class LockedList {
 public:
  explicit LockedList(const structure::Call& call)
      : call_(call), scratch_(*call.site), lock_(call) {}

  /// Locks. `element`: its header is read in the same flight when it can be.
  [[nodiscard]] bool begin(acp_ga_t element = ACP_GA_NULL);

  const structure::Call& call() const { return call_; }

  structure::Scratch& scratch() { return scratch_; }

  /// The header of an element of this list; false when it is none.
  [[nodiscard]] bool read(acp_ga_t element, Header& header);

  /// All elements from `first` up to, not with, `end` (ACP_GA_NULL: the end of
  /// the list). Data of at most `only_size` bytes... see Data. False also when
  /// `end` does not come (reported).
  [[nodiscard]] bool walk(Link first, acp_ga_t end, Data data, Nodes& nodes);

  /// A run of one, or of a walk.
  static Run run_of(const Node& node);
  static Run run_of(const Nodes& nodes);

  void unlink(const Run& run);
  /// `run.before` and `run.after` say where it goes.
  void link(const Run& run);
  /// The elements, in this order, are all that the list has. Links that are
  /// right already are not written.
  void set_order(const Nodes& nodes);

  /// Writes, then unlocks. False: the end of the job.
  [[nodiscard]] bool commit();
  /// The list is gone.
  void destroy();

  Ends ends;
  Writes writes;

 private:
  bool bring(Node& node);

  const structure::Call call_;
  structure::Scratch scratch_;
  std::uint64_t version_ = 0;
  acp_ga_t read_ahead_ = ACP_GA_NULL;
  Header header_ahead_{};
  structure::Lock lock_;
};

}  // namespace acp::middle::list
