// The communicators that HMPI knows: their context, and which ranks are
// processes of this host. docs/hmpi.md says which ones are known.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "hmpi/engine.h"

namespace hmpi {

struct Comm : ListNode {
  Comm(std::uint64_t id, std::size_t peers) : context(id, peers) {}

  Context context;
  MPI_Comm handle = MPI_COMM_NULL;
  int rank = 0;
  int size = 0;
  bool is_local = false;  ///< All ranks are on this host.
  /// The rank of each peer here, or -1; and back, in a table by hash.
  std::vector<int> ranks;

  struct Entry {
    int rank = -1;
    Peer peer = 0;
  };

  std::vector<Entry> table;
  unsigned shift = 0;

  /// Collective creations on this communicator so far.
  std::uint64_t creations = 0;
  /// Creations by MPI_Comm_create_group, by tag and group.
  std::unordered_map<std::uint64_t, std::uint64_t> group_creations;

  /// Operations under way. The program has freed it: it ends with the last.
  std::size_t pending = 0;
  bool is_freed = false;

  /// The peer with this rank; kAnyPeer: it is on another host.
  Peer peer_of(int rank_there) const noexcept {
    const auto key = static_cast<std::uint32_t>(rank_there);
    for (std::size_t at = (key * 0x9E37'79B9U) >> shift;; ++at) {
      const Entry& entry = table[at & (table.size() - 1)];
      if (entry.rank == rank_there) {
        return entry.peer;
      }
      if (entry.rank < 0) {
        return kAnyPeer;
      }
    }
  }
};

/// Inside of the gate, all of these.
class Comms {
 public:
  /// `world_ranks` has the rank in MPI_COMM_WORLD of each peer.
  Comms(Engine& engine, std::vector<int> world_ranks);
  ~Comms();
  Comms(const Comms&) = delete;
  Comms& operator=(const Comms&) = delete;

  /// The record of a communicator; null: messages on it pass through.
  Comm* find(MPI_Comm comm) {
    return comm == last_handle_ ? last_ : look_up(comm);
  }

  /// Makes a new communicator known, which a collective creation on `parent`
  /// has made. MPI_COMM_NULL and a null parent do nothing.
  void add(MPI_Comm made, std::uint64_t context);

  /// The context of the next collective creation on it.
  static std::uint64_t next_context(Comm& parent);
  /// The context of the next MPI_Comm_create_group with this group and tag.
  static std::uint64_t next_context(Comm& parent, MPI_Group group, int tag);

  /// An operation on it is over.
  void release(Comm& comm) {
    if (--comm.pending == 0 && comm.is_freed) {
      end(comm);
    }
  }

 private:
  static int forget(MPI_Comm comm, int keyval, void* value, void* extra);
  Comm* look_up(MPI_Comm comm);
  void end(Comm& comm);

  Engine& engine_;
  std::vector<int> world_ranks_;
  MPI_Group world_group_ = MPI_GROUP_NULL;
  int keyval_ = MPI_KEYVAL_INVALID;
  MPI_Comm last_handle_ = MPI_COMM_NULL;
  Comm* last_ = nullptr;
  List<Comm> all_;
};

}  // namespace hmpi
