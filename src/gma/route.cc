// The tables of ways. The engine and the operation runner ask; nothing here
// looks up an address or changes state.
#include "gma/route.h"

namespace acp::gma {

End end_of(const gmm::Target& target) noexcept {
  return target.direct != nullptr ? End::kMapped
         : target.is_same_host    ? End::kHost
                                  : End::kFar;
}

Way route_copy(End to,
               End from,
               Transfers transfers,
               ThirdParty third_party) noexcept {
  const bool can_transfer = transfers == Transfers::kPossible;
  if (to == End::kMapped) {
    return from == End::kMapped                 ? Way::kLocal
           : from == End::kHost && can_transfer ? Way::kTransferGet
                                                : Way::kGet;
  }
  if (from == End::kMapped) {
    return to == End::kHost && can_transfer ? Way::kTransferPut : Way::kPut;
  }
  if (to == End::kHost && from == End::kHost) {
    // A relay would go through transfers, too.
    return can_transfer ? Way::kBounce : Way::kDelegate;
  }
  return third_party == ThirdParty::kRelayable ? Way::kRelay : Way::kDelegate;
}

WordWay route_word(End word, CpuMay cpu) noexcept {
  return word == End::kMapped && cpu == CpuMay::kYes ? WordWay::kHere
                                                     : WordWay::kOwner;
}

}  // namespace acp::gma
