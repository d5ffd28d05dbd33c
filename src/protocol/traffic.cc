// Names and sums of traffic counts. Called by the udp transport and by the
// launcher. A name may not change, because readers of the statistics file look
// counts up by it.
#include "protocol/traffic.h"

#include <algorithm>

namespace acp::protocol {

std::uint64_t Traffic::dropped() const noexcept {
  const Traffic& all = *this;
  return all[TrafficCount::kMalformed] + all[TrafficCount::kStrays] +
         all[TrafficCount::kUnknown] + all[TrafficCount::kCorrupt] +
         all[TrafficCount::kReplayed];
}

void Traffic::add(const Traffic& other) noexcept {
  const std::uint64_t longest = std::max((*this)[TrafficCount::kLongestRtt],
                                         other[TrafficCount::kLongestRtt]);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    counts[i] += other.counts[i];
  }
  (*this)[TrafficCount::kLongestRtt] = longest;
}

/// Readers of the statistics file look the counts up by these names, so a name
/// may be added but not changed.
std::string_view name_of(TrafficCount count) noexcept {
  switch (count) {
    case TrafficCount::kSent: return "sent";
    case TrafficCount::kSentBytes: return "sent_bytes";
    case TrafficCount::kReceived: return "received";
    case TrafficCount::kReceivedBytes: return "received_bytes";
    case TrafficCount::kSentAgain: return "sent_again";
    case TrafficCount::kNeedless: return "needless";
    case TrafficCount::kUnsent: return "unsent";
    case TrafficCount::kDuplicates: return "duplicates";
    case TrafficCount::kNotHeld: return "not_held";
    case TrafficCount::kMalformed: return "malformed";
    case TrafficCount::kStrays: return "strays";
    case TrafficCount::kUnknown: return "unknown";
    case TrafficCount::kCorrupt: return "corrupt";
    case TrafficCount::kReplayed: return "replayed";
    case TrafficCount::kLongestRtt: return "longest_rtt_ns";
    case TrafficCount::kCount: break;
  }
  return "";
}

void TrafficRecord::set(const Traffic& traffic) noexcept {
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    counts_[i].store(traffic.counts[i], std::memory_order_relaxed);
  }
}

Traffic TrafficRecord::get() const noexcept {
  Traffic traffic;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    traffic.counts[i] = counts_[i].load(std::memory_order_relaxed);
  }
  return traffic;
}

}  // namespace acp::protocol
