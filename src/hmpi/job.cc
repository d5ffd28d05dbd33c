// Begins and ends HMPI in this process, and lets calls in.
#include "hmpi/job.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <random>
#include <string>

#include "acp.h"
#include "acp/extension.h"
#include "hmpi/below.h"
#include "hmpi/end_job.h"
#include "hmpi/types.h"
#include "hmpi/waiting.h"

namespace hmpi {

namespace {

Gate g_gate;
/// Made by MPI_Init, ended by MPI_Finalize.
Job* g_job = nullptr;
std::atomic<bool> g_is_at_work{false};
/// This library has called acp_init, so it calls acp_finalize.
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

/// The processes of the world on this host, by their memory.
std::vector<Engine::Member> members_of(int module, std::uint64_t world) {
  std::vector<Engine::Member> members;
  for (int rank = 0; rank < acp_procs(); ++rank) {
    const acp_ga_t address = acpx_module_ga(module, rank);
    auto* memory = static_cast<PeerMemory*>(acpx_pointer(address));
    if (memory != nullptr && memory->world == world) {
      members.push_back({rank, memory, address});
    }
  }
  return members;
}

/// Joins the ACP job. The module's number; negative: not possible.
int join(std::string& why) {
  acpx_module_t module{};
  module.name = "hmpi";
  module.bytes = sizeof(PeerMemory);
  const int number = acpx_add_module(&module);
  if (number < 0) {
    why = "the program has called acp_init before MPI_Init";
  } else if (acp_init(nullptr, nullptr) != 0) {
    why = std::string("acp_init: ") + acpx_strerror(acp_errno);
    return -1;
  } else {
    g_has_joined = true;
  }
  return number;
}

/// Drawn by rank 0, so that two worlds in one ACP job tell each other apart.
std::uint64_t draw_world() {
  std::uint64_t world = 0;
  int rank = 0;
  below.Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    std::random_device random;
    world = (std::uint64_t{random()} << 32 | random()) | 1;
  }
  below.Bcast(&world, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  return world;
}

/// Writes the facts of this process into its shared memory.
void introduce(PeerMemory& memory, std::uint64_t world) {
  int rank = 0;
  below.Comm_rank(MPI_COMM_WORLD, &rank);
  std::random_device random;
  g_word = std::uint64_t{random()} << 32 | random();
  memory.address = reinterpret_cast<std::uintptr_t>(&memory);
  memory.process = ::getpid();
  memory.probe_address = reinterpret_cast<std::uintptr_t>(&g_word);
  memory.probe_word = g_word;
  memory.world_rank = rank;
  memory.world = world;
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

void begin_job(bool has_threads) {
  std::string why;
  const Settings settings = read_settings(why);
  const int module = why.empty() ? join(why) : -1;
  const std::uint64_t world = draw_world();
  if (module >= 0) {
    introduce(*static_cast<PeerMemory*>(
                  acpx_pointer(acpx_module_ga(module, acp_rank()))),
              world);
  }
  // All have introduced themselves when all have answered.
  bool is_ready = all_agree(module >= 0);
  std::vector<Engine::Member> members;
  if (is_ready) {
    members = members_of(module, world);
  }
  if (why.empty() && members.size() > kMostPeers) {
    why = "this host has " + std::to_string(members.size()) +
          " processes, and HMPI serves " + std::to_string(kMostPeers);
  }
  is_ready = all_agree(is_ready && why.empty());
  if (!is_ready) {
    if (!why.empty()) {
      pass_all_through(why);
    }
    return;
  }
  const auto me = std::find_if(
      members.begin(), members.end(),
      [](const auto& member) { return member.rank == acp_rank(); });
  std::vector<int> world_ranks;
  world_ranks.reserve(members.size());
  for (const Engine::Member& member : members) {
    world_ranks.push_back(member.memory->world_rank);
  }
  set_end_job(abort_world);
  begin_types();
  g_job = new Job(settings, members, static_cast<Peer>(me - members.begin()),
                  world_ranks);
  g_job->has_threads = has_threads;
  int size = 0;
  below.Comm_size(MPI_COMM_WORLD, &size);
  g_job->has_other_hosts = members.size() < static_cast<std::size_t>(size);
  g_job->has_processors =
      static_cast<std::size_t>(::sysconf(_SC_NPROCESSORS_ONLN)) >=
      members.size();
  int* highest_tag = nullptr;
  int has_one = 0;
  below.Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB,
                      static_cast<void*>(&highest_tag), &has_one);
  g_job->highest_tag = has_one != 0 ? *highest_tag : 32767;
  acpx_add_progress(step, nullptr);
  g_is_at_work.store(true);
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
  if (g_has_joined) {
    acp_finalize();
  }
}

}  // namespace hmpi
