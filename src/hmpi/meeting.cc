// Joins the ACP job, and exchanges facts over the MPI below; see meeting.h.
#include "hmpi/meeting.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <new>
#include <random>

#include "acp.h"
#include "acp/extension.h"
#include "hmpi/below.h"
#include "hmpi/fence.h"
#include "hmpi/host_memory.h"
#include "hmpi/log.h"
#include "hmpi/protection.h"

namespace hmpi {

namespace {

/// This process holds the ACP job.
bool g_has_joined = false;
/// A process that reads this word has proved that it can read this memory.
std::uint64_t g_word = 0;

/// The facts that a process tells the others of its host. Addresses are its
/// own.
struct Introduction {
  int rank = 0;        ///< In the ACP job.
  int world_rank = 0;  ///< In MPI_COMM_WORLD.
  std::int64_t process = 0;
  std::uint64_t probe_address = 0;
  std::uint64_t probe_word = 0;
  std::uint64_t heap = 0;  ///< Its heap's first byte.
  std::uint64_t heap_bytes = 0;
  acp_ga_t heap_address = ACP_GA_NULL;
  std::uint64_t memory = 0;  ///< Its PeerMemory's.
  bool has_fences = false;   ///< The kernel's.
};

/// Joins the ACP job, which the program may have begun. A process has much more
/// address space than memory, so the heaps may be large, unless the user or a
/// launcher of ACP has decided: acprun and macprun have made the memory when
/// their ranks find this descriptor.
void join(std::size_t heap_bytes, std::string& why) {
  const bool is_decided = std::getenv("ACP_HEAP_SIZE") != nullptr ||
                          std::getenv("ACP_BOOTSTRAP_FD") != nullptr;
  if (!is_decided) {
    constexpr std::size_t kUsual = std::size_t{16} << 30;
    const std::size_t bytes = std::max(kUsual, heap_bytes / 3 * 4 + 4096);
    ::setenv("ACP_HEAP_SIZE", std::to_string(bytes).c_str(), 0);
  }
  if (acpx_hold_job() == 0) {
    g_has_joined = true;
  } else {
    why = std::string("acp_init: ") + acpx_strerror(acp_errno);
  }
  if (!is_decided) {
    ::unsetenv("ACP_HEAP_SIZE");
  }
}

/// The engine keeps so many bytes of a heap: rings to all processes of the
/// host, and a sixteenth for records of sends.
std::size_t reserved_of(std::size_t bytes, int processes) {
  constexpr std::size_t kForPeer = sizeof(RingMemory) + Block::kUnit;
  const std::size_t rings =
      kForPeer * static_cast<std::size_t>(processes) + 2 * sizeof(PeerMemory);
  return std::min(bytes / 2, rings + bytes / 16);
}

std::string why_no_heap(std::size_t wanted) {
  return "no memory for a heap of " + std::to_string(wanted) +
         " bytes; ACP_HEAP_SIZE has to be larger";
}

/// Opens this process's heap, in memory of acp_malloc. A heap that others use
/// as well may have no piece as large as wanted.
void open_heap(Introduction& mine,
               std::size_t wanted,
               Owner me,
               int processes,
               std::string& why) {
  constexpr std::size_t kLeastHeap = std::size_t{16} << 20;
  std::uint64_t all = 0;
  if (acpx_setting("ACP_HEAP_SIZE", &all) == 0) {
    const std::size_t usual = all / 4 * 3;
    if (wanted > all && usual < kLeastHeap) {
      why = why_no_heap(wanted);
      return;
    }
    if (wanted > all) {
      log(ACPX_LOG_WARNING,
          "HMPI_HEAP_SIZE=" + std::to_string(wanted) +
              " is more than ACP_HEAP_SIZE=" + std::to_string(all) +
              ", so the heap has " + std::to_string(usual) + " bytes");
    }
    wanted = wanted == 0 || wanted > all ? usual : wanted;
  }
  std::size_t bytes = wanted;
  do {
    mine.heap_address = acp_malloc(bytes, acp_rank());
  } while (mine.heap_address == ACP_GA_NULL && (bytes /= 2) >= kLeastHeap);
  void* heap = mine.heap_address == ACP_GA_NULL
                   ? nullptr
                   : acpx_pointer(mine.heap_address);
  if (heap == nullptr) {
    why = why_no_heap(wanted);
    return;
  }
  mine.heap = reinterpret_cast<std::uintptr_t>(heap);
  mine.heap_bytes = bytes;
  g_host_memory.set_on_return(
      [](void* buffer, std::size_t size) { g_protection.allow(buffer, size); });
  g_host_memory.open(heap, bytes, reserved_of(bytes, processes), me);
  mine.memory = reinterpret_cast<std::uintptr_t>(
      new (g_host_memory.take_reserved(sizeof(PeerMemory))) PeerMemory);
}

/// The process with the lowest rank on this host stands for the host.
int host_of_this_process() {
  int rank = 0;
  while (acpx_pointer(acp_query_starter_ga(rank)) == nullptr) {
    ++rank;
  }
  return rank;
}

/// Writes the facts of this process.
Introduction introduce() {
  Introduction mine;
  mine.rank = acp_rank();
  below.Comm_rank(MPI_COMM_WORLD, &mine.world_rank);
  std::random_device random;
  g_word = std::uint64_t{random()} << 32 | random();
  mine.process = ::getpid();
  mine.probe_address = reinterpret_cast<std::uintptr_t>(&g_word);
  mine.probe_word = g_word;
  mine.has_fences = Fences::register_process();
  return mine;
}

/// The processes of this host as this one sees them, in the order of their
/// ranks.
std::vector<Engine::Member> members_of(
    const std::vector<Introduction>& processes) {
  std::vector<Engine::Member> members;
  std::vector<HostMemory::Extent> heaps;
  members.reserve(processes.size());
  heaps.reserve(processes.size());
  for (const Introduction& process : processes) {
    const auto heap =
        reinterpret_cast<std::uintptr_t>(acpx_pointer(process.heap_address));
    const std::uint64_t shift = heap - process.heap;
    heaps.push_back({heap, process.heap_bytes, shift});
    const std::uint64_t memory = process.memory + shift;
    members.push_back({.rank = process.rank,
                       .memory = reinterpret_cast<PeerMemory*>(memory),
                       .address = process.heap_address + (memory - heap),
                       .shift = shift,
                       .process = process.process,
                       .probe_address = process.probe_address,
                       .probe_word = process.probe_word});
  }
  if (heaps.front().shift != 0) {
    log(ACPX_LOG_WARNING,
        "shared memory lies at another address than in rank " +
            std::to_string(processes.front().rank) +
            ": OPI_Give works, but pointers inside of a given buffer do not "
            "mean the same there");
  }
  g_host_memory.add_heaps(std::move(heaps));
  return members;
}

/// Whether no process of the world has a reason against HMPI. Of those that
/// have one, the process with the lowest rank writes it.
bool all_agree(const std::string& why) {
  int rank = 0;
  below.Comm_rank(MPI_COMM_WORLD, &rank);
  const int mine = why.empty() ? INT_MAX : rank;
  int lowest = INT_MAX;
  below.Allreduce(&mine, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (lowest == rank) {
    log(ACPX_LOG_WARNING, "all messages go to the MPI below: " + why);
  }
  return lowest == INT_MAX;
}

/// Exchanges the facts with the processes of this host, over `host`.
std::optional<Meeting> meet(const Settings& settings, MPI_Comm host) {
  int me = 0;
  int size = 0;
  int world_size = 0;
  below.Comm_rank(host, &me);
  below.Comm_size(host, &size);
  below.Comm_size(MPI_COMM_WORLD, &world_size);
  std::string why;
  Introduction mine = introduce();
  if (size > static_cast<int>(kMostPeers)) {
    why = "this host has " + std::to_string(size) +
          " processes, and HMPI serves " + std::to_string(kMostPeers);
  } else {
    open_heap(mine, settings.heap_bytes, static_cast<Owner>(me), size, why);
  }
  if (!all_agree(why)) {
    g_host_memory.close();
    return std::nullopt;
  }
  std::vector<Introduction> processes(static_cast<std::size_t>(size));
  below.Allgather(&mine, sizeof mine, MPI_BYTE, processes.data(), sizeof mine,
                  MPI_BYTE, host);
  Meeting meeting{
      .members = members_of(processes),
      .world_ranks = {},
      .me = static_cast<Peer>(me),
      .has_other_hosts = size < world_size,
      .has_fences = std::ranges::all_of(processes, &Introduction::has_fences)};
  meeting.world_ranks.reserve(processes.size());
  for (const Introduction& process : processes) {
    meeting.world_ranks.push_back(process.world_rank);
  }
  return meeting;
}

}  // namespace

/// All processes agree before each step that the others have to take part in.
std::optional<Meeting> meet_host(const Settings& settings, std::string why) {
  // A process that does not join would keep the others waiting.
  if (!all_agree(why)) {
    return std::nullopt;
  }
  join(settings.heap_bytes, why);
  if (!all_agree(why)) {
    return std::nullopt;
  }
  MPI_Comm host = MPI_COMM_NULL;
  below.Comm_split(MPI_COMM_WORLD, host_of_this_process(), acp_rank(), &host);
  std::optional<Meeting> meeting = meet(settings, host);
  below.Comm_free(&host);
  return meeting;
}

void leave_host() {
  if (g_has_joined) {
    acpx_release_job();
  }
}

}  // namespace hmpi
