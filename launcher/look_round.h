// One round of looks at all ranks of a job: job.cc asks every host for a look,
// and the watchdog judges only when the looks of all hosts are there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "launcher/rank_look.h"

namespace acp::launcher {

/// Pure. Used by the thread of the event loop, which alone touches all fields.
class LookRound {
 public:
  explicit LookRound(std::size_t hosts) : hosts_(hosts) {}

  /// Begins a round and returns its number. Looks of earlier rounds do not
  /// count any more.
  std::int64_t begin();

  /// Takes the looks of one host, made for round `round`.
  void take(std::uint32_t host,
            std::int64_t round,
            std::vector<RankLook> looks);

  bool is_complete() const noexcept { return looked_.size() == hosts_; }

  /// The looks so far, in the order of the numbers at launch.
  std::span<const RankLook> looks();

 private:
  const std::size_t hosts_;
  std::int64_t round_ = 0;
  std::vector<RankLook> looks_;
  std::set<std::uint32_t> looked_;  ///< Hosts whose looks are there.
};

}  // namespace acp::launcher
