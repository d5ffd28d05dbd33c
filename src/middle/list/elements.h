// A list's elements: what lies in front of their data, and writing to several
// of them at once. docs/containers.md, "List".
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "acp/element.h"
#include "middle/structure/chain.h"
#include "middle/structure/control.h"

namespace acp::middle::list {

/// A link knows how large the data is to which it leads. ga is the element's
/// first byte, or ACP_GA_NULL.
struct Link {
  acp_ga_t ga = ACP_GA_NULL;
  std::uint64_t size = 0;
};

/// In front of an element's data, as it lies in memory.
struct Header {
  Link next;
  Link prev;
  std::uint64_t size;
  acp_ga_t owner;  ///< The list's handle; 0: erased.
};

static_assert(sizeof(Header) == 48);

/// As a chain read it.
inline Header header_in(const std::uint64_t* words) {
  return {{words[0], words[1]}, {words[2], words[3]}, words[4], words[5]};
}

inline constexpr std::size_t kHeaderBytes = sizeof(Header);

inline acp_ga_t data_of(acp_ga_t element) {
  return element + kHeaderBytes;
}

inline acp_ga_t element_of(acp_ga_t data) {
  return data - kHeaderBytes;
}

/// Words to be written to elements of any rank, together. Up to kInline of
/// them wait; more are on their way already.
class Writes {
 public:
  void set_next(acp_ga_t element, Link link);
  void set_prev(acp_ga_t element, Link link);
  void set_owner(acp_ga_t element, acp_ga_t owner);

  /// Whether all can be part of a chain on `rank`, before other steps.
  bool fits_chain_on(int rank) const;
  void add_to(structure::Chain& chain);
  /// Writes them and waits. False: the end of the job.
  [[nodiscard]] bool run(structure::Slot& slot);

 private:
  static constexpr std::size_t kInline = 10;

  struct Word {
    acp_ga_t at;
    std::uint64_t value;
  };

  std::vector<Word> words_;
};

}  // namespace acp::middle::list
