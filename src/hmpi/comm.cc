// Contexts and members of communicators; comm.h says which ones are known.
#include "hmpi/comm.h"

#include <bit>
#include <numeric>

#include "hmpi/below.h"
#include "hmpi/job.h"

namespace hmpi {

namespace {

/// Mixes a value into a hash, so that all bits depend on all.
std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9E37'79B9'7F4A'7C15;
  hash = (hash ^ (hash >> 30)) * 0xBF58'476D'1CE4'E5B9;
  hash = (hash ^ (hash >> 27)) * 0x94D0'49BB'1331'11EB;
  return hash ^ (hash >> 31);
}

constexpr std::uint64_t kWorld = 1;
constexpr std::uint64_t kSelf = 2;

}  // namespace

Comms::Comms(Engine& engine, std::vector<int> world_ranks)
    : engine_(engine), world_ranks_(std::move(world_ranks)) {
  below.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &keyval_, this);
  below.Comm_group(MPI_COMM_WORLD, &world_group_);
  add(MPI_COMM_WORLD, mix(0, kWorld));
  const auto me = static_cast<std::uint64_t>(world_ranks_[engine.me()]);
  add(MPI_COMM_SELF, mix(mix(0, kSelf), me));
}

/// The MPI below calls forget() in MPI_Finalize otherwise, when nothing is
/// left.
Comms::~Comms() {
  while (Comm* comm = all_.find([](const Comm&) { return true; })) {
    if (comm->is_freed) {
      end(*comm);
    } else {
      comm->pending = 0;
      below.Comm_delete_attr(comm->handle, keyval_);
    }
  }
  below.Group_free(&world_group_);
}

/// Called by the MPI below when a communicator ends, in the program's thread.
int Comms::forget(MPI_Comm /*comm*/, int /*keyval*/, void* value, void* extra) {
  const Call call;  // Outside of the gate if the program calls MPI_Comm_free.
  auto& comms = *static_cast<Comms*>(extra);
  auto& comm = *static_cast<Comm*>(value);
  comms.last_handle_ = MPI_COMM_NULL;
  comms.last_ = nullptr;
  comm.is_freed = true;
  if (comm.pending == 0) {
    comms.end(comm);
  }
  return MPI_SUCCESS;
}

void Comms::end(Comm& comm) {
  all_.remove(comm);
  engine_.remove(comm.context);
  delete &comm;
}

Comm* Comms::look_up(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) {
    return nullptr;
  }
  Comm* found = nullptr;
  int has_one = 0;
  below.Comm_get_attr(comm, keyval_, static_cast<void*>(&found), &has_one);
  last_ = has_one != 0 ? found : nullptr;
  last_handle_ = comm;
  return last_;
}

/// Finds the members on this host by the group of the communicator. The MPI
/// below keeps the record as an attribute.
void Comms::add(MPI_Comm made, std::uint64_t context) {
  if (made == MPI_COMM_NULL) {
    return;
  }
  auto* comm = new Comm(context, engine_.peers());
  comm->handle = made;
  below.Comm_rank(made, &comm->rank);
  below.Comm_size(made, &comm->size);
  MPI_Group group = MPI_GROUP_NULL;
  below.Comm_group(made, &group);
  comm->ranks.resize(world_ranks_.size());
  below.Group_translate_ranks(world_group_,
                              static_cast<int>(world_ranks_.size()),
                              world_ranks_.data(), group, comm->ranks.data());
  below.Group_free(&group);
  comm->table.resize(std::bit_ceil(2 * world_ranks_.size() + 1));
  comm->shift =
      32U - static_cast<unsigned>(std::countr_zero(comm->table.size()));
  int members = 0;
  for (Peer peer = 0; peer < comm->ranks.size(); ++peer) {
    const int rank = comm->ranks[peer];
    if (rank == MPI_UNDEFINED) {
      comm->ranks[peer] = -1;
      continue;
    }
    ++members;
    std::size_t at =
        (static_cast<std::uint32_t>(rank) * 0x9E37'79B9U) >> comm->shift;
    while (comm->table[at & (comm->table.size() - 1)].rank >= 0) {
      ++at;
    }
    comm->table[at & (comm->table.size() - 1)] = {rank, peer};
  }
  comm->is_local = members == comm->size;
  below.Comm_set_attr(made, keyval_, comm);
  last_handle_ = MPI_COMM_NULL;
  last_ = nullptr;
  all_.push_back(*comm);
  engine_.add(comm->context);
}

std::uint64_t Comms::next_context(Comm& parent) {
  return mix(mix(parent.context.id, 0), ++parent.creations);
}

std::uint64_t Comms::next_context(Comm& parent, MPI_Group group, int tag) {
  int size = 0;
  below.Group_size(group, &size);
  std::vector<int> members(static_cast<std::size_t>(size));
  std::vector<int> ranks(members.size());
  std::iota(members.begin(), members.end(), 0);
  MPI_Group parents = MPI_GROUP_NULL;
  below.Comm_group(parent.handle, &parents);
  below.Group_translate_ranks(group, size, members.data(), parents,
                              ranks.data());
  below.Group_free(&parents);
  std::uint64_t key =
      mix(mix(parent.context.id, 1), static_cast<std::uint64_t>(tag));
  for (const int rank : ranks) {
    key = mix(key, static_cast<std::uint64_t>(rank));
  }
  return mix(key, ++parent.group_creations[key]);
}

}  // namespace hmpi
