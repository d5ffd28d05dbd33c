// Writes to the elements of a list. Called by LockedList::commit and by the
// operations on whole lists. Reads nothing.
#include "middle/list/elements.h"

#include "acp/global_memory.h"

namespace acp::middle::list {

void Writes::set_link(acp_ga_t at, Link link) {
  const LinkWords words = LinkWords::of(link);
  pieces_.push_back({at, 3, {words.ga, words.size, words.check}});
}

void Writes::set_next(acp_ga_t element, Link link) {
  set_link(element + offsetof(Header, next), link);
}

void Writes::set_prev(acp_ga_t element, Link link) {
  set_link(element + offsetof(Header, prev), link);
}

void Writes::set_list_word(acp_ga_t element, acp_ga_t word) {
  pieces_.push_back({element + offsetof(Header, list_word), 1, {word, 0, 0}});
}

bool Writes::fits_chain_on(int rank) const {
  if (pieces_.size() > kInline) {
    return false;
  }
  for (const Piece& piece : pieces_) {
    if (acp_query_rank(piece.at) != rank) {
      return false;
    }
  }
  return true;
}

void Writes::add_to(structure::Chain& chain) {
  for (const Piece& piece : pieces_) {
    chain.put_words(piece.at, piece.values.data(), piece.words);
  }
  pieces_.clear();
}

/// Writes that follow each other on one rank go in one chain. The scratch is
/// emptied, after a wait, when it is full.
bool Writes::run(structure::Scratch& scratch) {
  scratch.clear();
  structure::Chain chain(scratch);
  int rank = -1;
  std::size_t steps = 0;
  std::size_t under_way = 0;
  for (const Piece& piece : pieces_) {
    const int to = acp_query_rank(piece.at);
    if (steps != 0 && (to != rank || steps == ACPX_MAX_STEPS)) {
      if (chain.post() == ACP_HANDLE_NULL) {
        return false;
      }
      steps = 0;
    }
    if (under_way == kPerScratch) {
      if ((steps != 0 && chain.post() == ACP_HANDLE_NULL) ||
          !structure::finish(ACP_HANDLE_ALL)) {
        return false;
      }
      scratch.clear();
      steps = 0;
      under_way = 0;
    }
    rank = to;
    ++steps;
    ++under_way;
    chain.put_words(piece.at, piece.values.data(), piece.words);
  }
  pieces_.clear();
  if (steps != 0 && chain.post() == ACP_HANDLE_NULL) {
    return false;
  }
  return structure::finish(ACP_HANDLE_ALL);
}

}  // namespace acp::middle::list
