// Compares the proposals of networks. Called by network_choice.cc while a
// process joins the job; does no input or output.
#include "runtime/proposals.h"

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
