// A list's elements: what lies in front of their data, and writing to several
// of them at once. docs/containers.md, "List".
#pragma once

#include <array>
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

/// A link as it lies in memory. The last word is made of the other two: who
/// walks without the lock sees by it when it read one of an old link and one
/// of a new.
struct LinkWords {
  acp_ga_t ga = ACP_GA_NULL;
  std::uint64_t size = 0;
  std::uint64_t check = 0;

  static LinkWords of(Link link) {
    return {link.ga, link.size, check_of(link.ga, link.size)};
  }

  Link link() const { return {ga, size}; }

  bool is_whole() const { return check == check_of(ga, size); }

 private:
  /// Never 0: a link that is not written yet is not whole.
  static std::uint64_t check_of(acp_ga_t ga, std::uint64_t size) {
    std::uint64_t mixed = (ga ^ ga >> 29) * 0xbf58'476d'1ce4'e5b9;
    mixed = (mixed ^ mixed >> 32 ^ size) * 0x94d0'49bb'1331'11eb;
    return (mixed ^ mixed >> 31) | 1;
  }
};

/// In front of an element's data, as it lies in memory.
struct Header {
  LinkWords next;
  LinkWords prev;
  std::uint64_t size = 0;
  acp_ga_t owner = ACP_GA_NULL;  ///< The list's handle; 0: erased.

  /// Of an element that is being put in, whose links come: who has come to it
  /// already waits for them.
  static acp_ga_t coming_to(acp_ga_t list) { return ~list; }

  bool is_whole() const { return next.is_whole() && prev.is_whole(); }
};

static_assert(sizeof(Header) == 64);

/// As a chain read it.
inline Header header_in(const std::uint64_t* words) {
  return {{words[0], words[1], words[2]},
          {words[3], words[4], words[5]},
          words[6],
          words[7]};
}

inline constexpr std::size_t kHeaderBytes = sizeof(Header);

inline acp_ga_t data_of(acp_ga_t element) {
  return element + kHeaderBytes;
}

inline acp_ga_t element_of(acp_ga_t data) {
  return data - kHeaderBytes;
}

/// What is to be written to elements of any rank, together.
class Writes {
 public:
  void set_next(acp_ga_t element, Link link);
  void set_prev(acp_ga_t element, Link link);
  void set_owner(acp_ga_t element, acp_ga_t owner);

  /// Whether all can be part of a chain on `rank`, before other steps.
  bool fits_chain_on(int rank) const;
  void add_to(structure::Chain& chain);
  /// Writes and waits. False: the end of the job.
  [[nodiscard]] bool run(structure::Scratch& scratch);

 private:
  static constexpr std::size_t kInline = 10;
  /// Under way at a time, for their words lie in the scratch.
  static constexpr std::size_t kPerScratch = 18 * ACPX_MAX_STEPS;

  struct Piece {
    acp_ga_t at;
    std::size_t words;
    std::array<std::uint64_t, 3> values;
  };

  void set_link(acp_ga_t at, Link link);

  std::vector<Piece> pieces_;
};

}  // namespace acp::middle::list
