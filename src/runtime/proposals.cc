// Makes and compares the proposals of networks. Called while a process joins
// the job: by network_choice.cc, and by the Task in a job of one host. Does no
// input or output.
#include "runtime/proposals.h"

#include <algorithm>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace acp::runtime {

namespace {

/// Set in the proposal of a network that a user has named.
constexpr Proposal kIsNamed = Proposal{1} << 31;

}  // namespace

Proposal propose_fabric(std::string_view fabric) noexcept {
  const auto hash = XXH3_64bits(fabric.data(), fabric.size());
  return (static_cast<Proposal>(hash) & ~kIsNamed) | 1U;
}

Proposal propose_named(std::string_view network) noexcept {
  return propose_fabric(network) | kIsNamed;
}

Proposal propose_on_host(std::string_view network,
                         bool shares_memory) noexcept {
  return (propose_fabric(network) & ~Proposal{1}) | (shares_memory ? 1U : 0U);
}

bool fit_on_host(Proposal a, Proposal b) noexcept {
  return a == b || (a & b & 1U) != 0;
}

std::string_view network_of(Proposal proposal,
                            std::string_view networks) noexcept {
  while (!networks.empty()) {
    const std::string_view one = networks.substr(0, networks.find('|'));
    if (propose_on_host(one, (proposal & 1U) != 0) == proposal) {
      return one;
    }
    networks.remove_prefix(std::min(one.size() + 1, networks.size()));
  }
  return {};
}

void ProposalReview::add(std::uint32_t proc,
                         Proposal proposal,
                         bool is_on_my_host) noexcept {
  is_any_named_ = is_any_named_ || (proposal & kIsNamed) != 0;
  if (proposal == mine_) {
    is_shared_ = is_shared_ || (mine_ != kNoRdma && !is_on_my_host);
  } else if (are_alike_) {
    are_alike_ = false;
    other_ = proc;
  }
}

NetworkUse ProposalReview::use() const noexcept {
  return are_alike_      ? NetworkUse::kAlike
         : is_any_named_ ? NetworkUse::kRefused
         : is_shared_    ? NetworkUse::kBoth
                         : NetworkUse::kUdp;
}

}  // namespace acp::runtime
