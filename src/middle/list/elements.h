// The elements of a list: the header in front of their data, and writes to
// several elements together. docs/containers.md, "List", has the layout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "acp/element.h"
#include "middle/structure/chain.h"
#include "middle/structure/control.h"

namespace acp::middle::list {

/// A link leads to an element and tells the size of its data. `ga` is the
/// element's first byte, or ACP_GA_NULL.
struct Link {
  acp_ga_t ga = ACP_GA_NULL;
  std::uint64_t size = 0;
};

/// A link as it lies in memory. `check` is made of the other two words. A
/// reader without the lock sees by it whether it read words of two different
/// links.
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
  /// Never 0, so that a link that is not written yet is not whole.
  static std::uint64_t check_of(acp_ga_t ga, std::uint64_t size) {
    std::uint64_t mixed = (ga ^ ga >> 29) * 0xbf58'476d'1ce4'e5b9;
    mixed = (mixed ^ mixed >> 32 ^ size) * 0x94d0'49bb'1331'11eb;
    return (mixed ^ mixed >> 31) | 1;
  }
};

/// The header in front of an element's data, as it lies in memory. `list_word`
/// tells whether the element is in a list:
///
/// 1. The list's handle: the element is in this list.
/// 2. The handle's complement, coming_to(): the element is in memory, but its
///    links are not written yet. A reader retries.
/// 3. 0: the element was erased. Its memory is freed after this is written.
struct Header {
  LinkWords next;
  LinkWords prev;
  std::uint64_t size = 0;
  /// Written under the list's lock once the element is linked.
  acp_ga_t list_word = ACP_GA_NULL;

  /// The list word of an element whose links are not written yet.
  static acp_ga_t coming_to(acp_ga_t list) { return ~list; }

  bool is_whole() const { return next.is_whole() && prev.is_whole(); }
};

static_assert(sizeof(Header) == 64);

/// Decodes a header that a chain has read.
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

/// Collects writes to elements on any ranks, then does them together. The
/// caller has the list locked. Used by one thread.
class Writes {
 public:
  void set_next(acp_ga_t element, Link link);
  void set_prev(acp_ga_t element, Link link);
  void set_list_word(acp_ga_t element, acp_ga_t word);

  /// Whether all writes fit into a chain on `rank` that has more steps to come.
  bool fits_chain_on(int rank) const;
  void add_to(structure::Chain& chain);
  /// Does the writes and waits. False: the job is ending.
  [[nodiscard]] bool run(structure::Scratch& scratch);

 private:
  /// Steps of a chain that writes may take: the others write the control and
  /// unlock it.
  static constexpr std::size_t kInline =
      ACPX_MAX_STEPS - 3 - structure::Lock::kReleaseSteps;
  /// Writes that are under way at a time: their words lie in the scratch.
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
