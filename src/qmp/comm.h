// A communicator: its ranks in the order of its nodes, its logical torus, and
// what global operations keep for it.
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

/// Does not change after it is made, with two exceptions. The topology is
/// declared once. One thread at a time calls the members for global operations.
struct QMP_comm_struct {
  /// Communicators that share two ranks have different numbers.
  std::uint32_t number = 0;
  std::vector<int> ranks;
  int me = 0;
  int colors = 1;
  int color = 0;
  int key = 0;
  bool is_built_in = true;
  bool is_kept = false;  ///< In Job::kept: QMP_comm_free has failed.
  /// In Job::freed: it has no nodes and nothing else any more.
  bool is_freed = false;

  std::optional<qmp::Grid> grid;  ///< The declared logical topology.
  std::vector<int> coordinates;

  /// The channels, and later the pair, of this node and one partner of global
  /// operations.
  struct Lanes {
    /// The channels of class collective to the partner and from it.
    qmp::Half* out = nullptr;
    qmp::Half* in = nullptr;
    bool is_handshake_done = false;   ///< Whether there is a pair is settled.
    std::unique_ptr<qmp::Pair> pair;  ///< Carries messages up to kPairBytes.
  };

  /// Calls of global operations here, and the last of them: number k at k mod
  /// 16.
  std::uint64_t operations = 0;
  std::array<qmp::Call, 16> recent;
  qmp::Revocation* revocation = nullptr;
  std::unordered_map<int, Lanes> lanes;
  bool has_all_partners = false;  ///< QMP_comm_alltoall was called.
  qmp::Block scratch;  ///< Operands of short reductions, kept between them.

  int nodes() const { return static_cast<int>(ranks.size()); }
};
