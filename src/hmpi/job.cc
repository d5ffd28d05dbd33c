// Begins and ends HMPI in this process, and lets calls in.
#include "hmpi/job.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "acp.h"
#include "acp/extension.h"
#include "hmpi/below.h"
#include "hmpi/buffer_pool.h"
#include "hmpi/end_job.h"
#include "hmpi/host_memory.h"
#include "hmpi/log.h"
#include "hmpi/malloc.h"
#include "hmpi/meeting.h"
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
/// This process was made by fork() while HMPI was at work.
std::atomic<bool> g_is_child{false};
/// This thread is inside of the gate, or was when it called the MPI below.
[[gnu::tls_model("initial-exec")]] thread_local bool t_is_inside = false;

/// The library's thread, or a waiting call of the program, works for HMPI.
int step(void* /*argument*/) {
  if (!g_gate.try_visit()) {
    return ACPX_STEP_BUSY;
  }
  // The MPI below may be asked about a twin.
  const bool was_inside = std::exchange(t_is_inside, true);
  const bool has_moved = g_job->engine.progress(true);
  t_is_inside = was_inside;
  if (g_job->engine.has_steps_left()) {
    acpx_hurry_progress();
  }
  g_gate.end_visit();
  return has_moved ? 1 : 0;
}

/// In a child made by fork(), which has a copy of the parent's state and heap.
/// Peers know the parent alone, and go on with the heap.
void leave_to_parent() {
  if (g_is_at_work.exchange(false)) {
    g_is_child.store(true, std::memory_order_relaxed);
  }
  end_malloc();
  g_host_memory.close();
}

[[noreturn]] void refuse_child() {
  (void)std::fprintf(stderr,
                     "HMPI: error: a child of %s, made by fork(), has called a "
                     "function of MPI; a child may execute another program, or "
                     "compute and end\n",
                     g_who.data());
  std::_Exit(1);
}

/// The words of messages that are written without ACP.
void name_this_process() {
  std::array<char, 65> host{};
  (void)::gethostname(host.data(), host.size() - 1);
  (void)std::snprintf(g_who.data(), g_who.size(), "rank %d on %s (pid %d)",
                      acp_rank(), host.data(), static_cast<int>(::getpid()));
}

void abort_world() {
  below.Abort(MPI_COMM_WORLD, 1);
}

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
    show_statistics(*g_job);
    if (!g_job->engine.settings().statistics.empty()) {
      write_statistics(*g_job, g_job->engine.settings().statistics);
    }
    g_is_at_work.store(false);
  }
  acpx_remove_progress(step, nullptr);
  delete g_job;
  g_job = nullptr;
}

/// Makes the job of processes that have met.
Job* make_job(const Settings& settings, const Meeting& meeting) {
  begin_types();
  Job* made =
      new Job(settings, meeting.members, meeting.me, meeting.world_ranks);
  made->has_other_hosts = meeting.has_other_hosts;
  if (meeting.has_fences) {
    made->engine.rely_on_kernel_fences();
  }
  made->has_processors = ::sysconf(_SC_NPROCESSORS_ONLN) >=
                         static_cast<long>(meeting.members.size());
  int* highest_tag = nullptr;
  int has_one = 0;
  below.Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB,
                      static_cast<void*>(&highest_tag), &has_one);
  made->highest_tag = has_one != 0 ? *highest_tag : 32767;
  return made;
}

/// Buffers in the pools of all processes of a host may be of one process's
/// heap: a quarter of it at most.
void begin_memory(const Settings& settings, std::size_t processes) {
  g_buffers.open(
      std::min(settings.pool_bytes, g_host_memory.heap_bytes() / 4 / processes),
      settings.is_debug);
  if (settings.is_debug) {
    g_protection.begin();
  }
  begin_malloc(settings.heap_from);
}

}  // namespace

Gate& gate() noexcept {
  return g_gate;
}

Job& job() noexcept {
  return *g_job;
}

/// Calls that test wake peers as Waiting does: the longer they find nothing,
/// the more seldom they wake.
void Job::rouse_peers(bool has_moved) {
  constexpr std::chrono::microseconds kFirstWake{50};
  constexpr std::chrono::microseconds kLongestWake{20'000};
  const auto now = std::chrono::steady_clock::now();
  if (has_moved || !engine.awaits_peers() || next_wake_.count() == 0) {
    idle_since_ = now;
    next_wake_ = kFirstWake;
    return;
  }
  const auto waited =
      std::chrono::duration_cast<std::chrono::microseconds>(now - idle_since_);
  if (waited >= next_wake_) {
    next_wake_ = waited + std::min(waited, kLongestWake);
    engine.wake_awaited();
  }
}

Call::Call() noexcept
    : is_inside_(g_is_at_work.load(std::memory_order_relaxed) && !t_is_inside) {
  if (is_inside_) {
    t_is_inside = true;
    g_gate.enter();
  } else if (g_is_child.load(std::memory_order_relaxed)) {
    refuse_child();
  }
}

void Call::leave() noexcept {
  g_gate.leave();
  t_is_inside = false;
  is_inside_ = false;
}

void begin_job(bool has_threads, bool has_threads_below) {
  std::string why;
  Settings settings = read_settings(why);
  const std::optional<Meeting> meeting = meet_host(settings, why);
  if (meeting) {
    std::uint64_t counts = 0;
    settings.has_clock |= acpx_setting("ACP_COUNTERS", &counts) == 0 && counts;
    set_end_job(abort_world);
    g_job = make_job(settings, *meeting);
    g_job->has_threads = has_threads;
    g_job->has_threads_below = has_threads_below;
    if (!has_threads) {
      g_gate.favor_calls();
    }
    acpx_add_progress(step, nullptr);
    name_this_process();
    g_is_at_work.store(true);
    begin_memory(settings, meeting->members.size());
    if (::pthread_atfork(nullptr, nullptr, leave_to_parent) != 0) {
      end_malloc();  // A child would take blocks of the parent's heap.
    }
  }
}

void end_job_of_world() {
  if (g_is_at_work.load()) {
    end_work();
  }
  end_malloc();
  leave_host();
}

}  // namespace hmpi
