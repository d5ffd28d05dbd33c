// A communicator: which ranks, in which order, and their logical torus.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "qmp.h"
#include "qmp/grid.h"
#include "qmp/library_memory.h"
#include "qmp/message_layout.h"
#include "qmp/pair.h"

namespace qmp {
class Half;
class Revocation;
}  // namespace qmp

/// Read-only after it is made, but for the topology (declared once) and what
/// collectives keep, which one thread at a time uses.
struct QMP_comm_struct {
  /// Two communicators that share a pair of ranks have different numbers.
  std::uint32_t number = 0;
  std::vector<int> ranks;
  int me = 0;
  int colors = 1;
  int color = 0;
  int key = 0;
  bool is_built_in = true;
  bool is_kept = false;  ///< By the job: QMP_comm_free has failed.

  std::optional<qmp::Grid> grid;  ///< Declared logical topology.
  std::vector<int> coordinates;

  /// Collective channels by partner: to it, from it.
  struct Lanes {
    qmp::Half* out = nullptr;
    qmp::Half* in = nullptr;
    bool has_met = false;             ///< Knows whether there is a pair.
    std::unique_ptr<qmp::Pair> pair;  ///< For short reductions.
  };

  /// Global operations begun here, and the last of them: number k at k mod 16.
  std::uint64_t operations = 0;
  std::array<qmp::Call, 16> recent;
  qmp::Revocation* revocation = nullptr;
  std::unordered_map<int, Lanes> lanes;
  qmp::Block scratch;

  int nodes() const { return static_cast<int>(ranks.size()); }
};
