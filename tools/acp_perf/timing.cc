// Measures the cost of reading the clock, once. timing.h and rows call it, and
// subtract the cost from what they measure. The first call reads the clock
// 20,000 times, so it may not stand inside a timed batch.
#include "timing.h"

namespace acp::perf {

double clock_cost_ns() {
  static const double cost = [] {
    constexpr std::uint64_t kReads = 100;
    Samples samples;
    for (int round = 0; round < 200; ++round) {
      const std::int64_t start = now_ns();
      std::int64_t last = start;
      for (std::uint64_t i = 0; i < kReads; ++i) {
        last = now_ns();
      }
      samples.add(static_cast<double>(last - start), kReads);
    }
    return samples.percentile(0.5);
  }();
  return cost;
}

}  // namespace acp::perf
