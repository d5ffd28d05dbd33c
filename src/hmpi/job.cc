// Begins and ends HMPI in this process, and lets calls in.
#include "hmpi/job.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>
#include <string>

#include "acp.h"
#include "acp/extension.h"
#include "hmpi/below.h"
#include "hmpi/buffer_pool.h"
#include "hmpi/end_job.h"
#include "hmpi/host_memory.h"
#include "hmpi/malloc.h"
#include "hmpi/protection.h"
#include "hmpi/statistics.h"
#include "hmpi/types.h"
#include "hmpi/waiting.h"

namespace hmpi {

namespace {

Gate g_gate;
/// Made by MPI_Init, ended by MPI_Finalize.
Job* g_job = nullptr;
std::atomic<bool> g_is_at_work{false};
/// This library holds the ACP job.
bool g_has_joined = false;
/// This thread is inside of the gate, or was when it called the MPI below.
[[gnu::tls_model("initial-exec")]] thread_local bool t_is_inside = false;
/// A process that reads this word has proved that it can read this memory.
std::uint64_t g_word = 0;

/// The library's thread, or a waiting call of the program, works for HMPI.
int step(void* /*argument*/) {
  if (!g_gate.try_enter()) {
    return ACPX_STEP_BUSY;
  }
  const bool has_moved = g_job->engine.progress(true);
  if (g_job->engine.has_kept()) {
    acpx_hurry_progress();
  }
  g_gate.leave();
  return has_moved ? 1 : 0;
}

void pass_all_through(const std::string& why) {
  (void)std::fprintf(stderr,
                     "HMPI: warning: all messages go to the MPI below: %s\n",
                     why.c_str());
}

void abort_world() {
  below.Abort(MPI_COMM_WORLD, 1);
}

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
};

/// Joins the ACP job, which the program may have begun. A process has much more
/// address space than memory, so the heaps may be large, unless the user or a
/// launcher of ACP has decided: acprun and macprun have made the memory when
/// their ranks find this descriptor.
void join(std::string& why) {
  const bool is_decided = std::getenv("ACP_HEAP_SIZE") != nullptr ||
                          std::getenv("ACP_BOOTSTRAP_FD") != nullptr;
  if (!is_decided) {
    ::setenv("ACP_HEAP_SIZE", "16G", 0);
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

/// Opens this process's heap, in memory of acp_malloc. A heap that others use
/// as well may have no piece as large as wanted.
void open_heap(Introduction& mine,
               std::size_t wanted,
               Owner me,
               std::string& why) {
  constexpr std::size_t kLeastHeap = std::size_t{16} << 20;
  std::uint64_t all = 0;
  if (acpx_setting("ACP_HEAP_SIZE", &all) == 0 && wanted == 0) {
    wanted = all / 4 * 3;
  }
  std::size_t bytes = wanted;
  do {
    mine.heap_address = acp_malloc(bytes, acp_rank());
  } while (mine.heap_address == ACP_GA_NULL && (bytes /= 2) >= kLeastHeap);
  void* heap = mine.heap_address == ACP_GA_NULL
                   ? nullptr
                   : acpx_pointer(mine.heap_address);
  if (heap == nullptr) {
    why = "no memory for a heap of " + std::to_string(wanted) +
          " bytes; ACP_HEAP_SIZE has to be larger";
    return;
  }
  mine.heap = reinterpret_cast<std::uintptr_t>(heap);
  mine.heap_bytes = bytes;
  g_host_memory.set_on_return(
      [](void* buffer, std::size_t size) { g_protection.allow(buffer, size); });
  g_host_memory.open(heap, bytes, me);
  mine.memory = reinterpret_cast<std::uintptr_t>(
      new (g_host_memory.take(sizeof(PeerMemory))) PeerMemory);
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
    (void)std::fprintf(
        stderr,
        "HMPI: warning: rank %d: shared memory lies at another address than in "
        "rank %d: OPI_Give works, but pointers inside of a given buffer do not "
        "mean the same there\n",
        acp_rank(), processes.front().rank);
  }
  g_host_memory.add_heaps(std::move(heaps));
  return members;
}

bool all_agree(bool is_ready) {
  int mine = is_ready ? 1 : 0;
  int all = 0;
  below.Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all != 0;
}

}  // namespace

Gate& gate() noexcept {
  return g_gate;
}

Job& job() noexcept {
  return *g_job;
}

Call::Call() noexcept
    : is_inside_(g_is_at_work.load(std::memory_order_relaxed) && !t_is_inside) {
  if (is_inside_) {
    t_is_inside = true;
    g_gate.enter();
  }
}

void Call::leave() noexcept {
  g_gate.leave();
  t_is_inside = false;
  is_inside_ = false;
}

namespace {

/// Meets the processes of this host, and makes what they share. `why` says why
/// that is not possible.
void meet_host(const Settings& settings, bool has_threads, std::string& why) {
  MPI_Comm host = MPI_COMM_NULL;
  below.Comm_split(MPI_COMM_WORLD, host_of_this_process(), acp_rank(), &host);
  int me = 0;
  int size = 0;
  below.Comm_rank(host, &me);
  below.Comm_size(host, &size);
  Introduction mine = introduce();
  if (size > static_cast<int>(kMostPeers)) {
    why = "this host has " + std::to_string(size) +
          " processes, and HMPI serves " + std::to_string(kMostPeers);
  } else {
    open_heap(mine, settings.heap_bytes, static_cast<Owner>(me), why);
  }
  if (all_agree(why.empty())) {
    std::vector<Introduction> processes(static_cast<std::size_t>(size));
    below.Allgather(&mine, sizeof mine, MPI_BYTE, processes.data(), sizeof mine,
                    MPI_BYTE, host);
    std::vector<int> world_ranks;
    world_ranks.reserve(processes.size());
    for (const Introduction& process : processes) {
      world_ranks.push_back(process.world_rank);
    }
    begin_types();
    g_job = new Job(settings, members_of(processes), static_cast<Peer>(me),
                    world_ranks);
    g_job->has_threads = has_threads;
    int world_size = 0;
    below.Comm_size(MPI_COMM_WORLD, &world_size);
    g_job->has_other_hosts = size < world_size;
    g_job->has_processors =
        ::sysconf(_SC_NPROCESSORS_ONLN) >= static_cast<long>(size);
  }
  below.Comm_free(&host);
}

/// Buffers in the pools of all processes of the host may be of one process's
/// heap: a quarter of it at most.
std::size_t most_in_pool() {
  return g_host_memory.heap_bytes() / 4 / g_job->engine.peers();
}

}  // namespace

/// All processes of the world agree before each step that the others have to
/// take part in.
void begin_job(bool has_threads) {
  std::string why;
  const Settings settings = read_settings(why);
  if (why.empty()) {
    join(why);
  }
  if (all_agree(why.empty())) {
    meet_host(settings, has_threads, why);
  }
  if (g_job == nullptr) {
    if (!why.empty()) {
      pass_all_through(why);
    }
    return;
  }
  set_end_job(abort_world);
  int* highest_tag = nullptr;
  int has_one = 0;
  below.Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB,
                      static_cast<void*>(&highest_tag), &has_one);
  g_job->highest_tag = has_one != 0 ? *highest_tag : 32767;
  g_buffers.open(std::min(settings.pool_bytes, most_in_pool()),
                 settings.is_debug);
  if (settings.is_debug) {
    g_protection.begin();
  }
  acpx_add_progress(step, nullptr);
  g_is_at_work.store(true);
  begin_malloc(settings.heap_from);
}

namespace {

/// Every process has received its messages when it calls MPI_Finalize. So all
/// copies have been read after the barrier.
void end_work() {
  {
    Call call;
    MPI_Request barrier = MPI_REQUEST_NULL;
    wait_until(*g_job, {}, [] { return !g_job->engine.has_kept(); });
    below.Ibarrier(MPI_COMM_WORLD, &barrier);
    wait_until(*g_job, {.is_below = true}, [&] {
      int is_done = 0;
      below.Test(&barrier, &is_done, MPI_STATUS_IGNORE);
      return is_done != 0;
    });
    if (!g_job->engine.settings().statistics.empty()) {
      write_statistics(*g_job, g_job->engine.settings().statistics);
    }
    g_is_at_work.store(false);
  }
  acpx_remove_progress(step, nullptr);
  delete g_job;
  g_job = nullptr;
}

}  // namespace

void end_job_of_world() {
  if (g_is_at_work.load()) {
    end_work();
  }
  end_malloc();
  if (g_has_joined) {
    acpx_release_job();
  }
}

}  // namespace hmpi
