#include "middle/list/elements.h"

#include "acp/global_memory.h"

namespace acp::middle::list {

void Writes::set_next(acp_ga_t element, Link link) {
  words_.push_back({element + offsetof(Header, next), link.ga});
  words_.push_back({element + offsetof(Header, next) + 8, link.size});
}

void Writes::set_prev(acp_ga_t element, Link link) {
  words_.push_back({element + offsetof(Header, prev), link.ga});
  words_.push_back({element + offsetof(Header, prev) + 8, link.size});
}

void Writes::set_owner(acp_ga_t element, acp_ga_t owner) {
  words_.push_back({element + offsetof(Header, owner), owner});
}

bool Writes::fits_chain_on(int rank) const {
  if (words_.size() > kInline) {
    return false;
  }
  for (const Word& word : words_) {
    if (acp_query_rank(word.at) != rank) {
      return false;
    }
  }
  return true;
}

void Writes::add_to(structure::Chain& chain) {
  for (const Word& word : words_) {
    chain.put8(word.at, word.value);
  }
  words_.clear();
}

bool Writes::run(structure::Slot& slot) {
  structure::Chain chain(slot);
  acp_handle_t last = ACP_HANDLE_NULL;
  int rank = -1;
  std::size_t steps = 0;
  for (const Word& word : words_) {
    const int to = acp_query_rank(word.at);
    if (!chain.is_empty() && (to != rank || steps == ACPX_MAX_STEPS)) {
      last = chain.post();
      if (last == ACP_HANDLE_NULL) {
        return false;
      }
      steps = 0;
    }
    rank = to;
    ++steps;
    chain.put8(word.at, word.value);
  }
  words_.clear();
  if (!chain.is_empty()) {
    last = chain.post();
    if (last == ACP_HANDLE_NULL) {
      return false;
    }
  }
  return last == ACP_HANDLE_NULL || structure::finish(last);
}

}  // namespace acp::middle::list
