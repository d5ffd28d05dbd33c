// Names and sizes of the counters of a rank. Called by the runtime, which
// counts, and by the launcher, which reads. A name may not change, because
// readers of the file of acprun --stats look counts up by it.
#include "protocol/counters.h"

#include <algorithm>

namespace acp::protocol {

std::string_view name_of(CountedWay way) noexcept {
  switch (way) {
    case CountedWay::kDirect: return "direct";
    case CountedWay::kCma: return "cma";
    case CountedWay::kShm: return "shm";
    case CountedWay::kUdp: return "udp";
    case CountedWay::kVerbs: return "verbs";
    case CountedWay::kUcx: return "ucx";
    case CountedWay::kCount: break;
  }
  return "";
}

std::string_view name_of(CountedKind kind) noexcept {
  switch (kind) {
    case CountedKind::kPut: return "put";
    case CountedKind::kGet: return "get";
    case CountedKind::kAtomic: return "atomic";
    case CountedKind::kMessage: return "message";
    case CountedKind::kCount: break;
  }
  return "";
}

CountedWay way_named(std::string_view transport) noexcept {
  for (const CountedWay way :
       {CountedWay::kUdp, CountedWay::kVerbs, CountedWay::kUcx}) {
    if (transport == name_of(way)) {
      return way;
    }
  }
  return CountedWay::kShm;
}

std::uint32_t peer_rows_for(std::uint32_t procs) noexcept {
  constexpr std::uint32_t kLeast = 4096;
  constexpr std::uint32_t kMost = 65536;
  return procs >= kMost / 4 ? kMost : std::max(kLeast, 4 * procs);
}

std::uint64_t counter_bytes_for(std::uint32_t procs) noexcept {
  return sizeof(CounterPart) +
         std::uint64_t{peer_rows_for(procs)} * sizeof(PeerCounters);
}

}  // namespace acp::protocol
