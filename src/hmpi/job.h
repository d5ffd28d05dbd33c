// HMPI in this process, from MPI_Init to MPI_Finalize, and the way in of each
// call.
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "hmpi/comm.h"
#include "hmpi/engine.h"
#include "hmpi/gate.h"
#include "hmpi/requests.h"

namespace hmpi {

/// While messages pass between the processes of this host.
struct Job {
  Job(const Settings& settings,
      const std::vector<Engine::Member>& members,
      Peer me,
      const std::vector<int>& world_ranks)
      : engine(settings, members, me),
        comms(engine, world_ranks),
        requests(*this) {}

  Engine engine;
  Comms comms;
  Requests requests;
  /// Whether several threads may call at the same time.
  bool has_threads = false;
  /// Whether the MPI below allows calls of several threads.
  bool has_threads_below = false;
  /// Whether processes of the world are on other hosts.
  bool has_other_hosts = false;
  /// Whether the processes of this host have a processor each.
  bool has_processors = false;
  int highest_tag = 0;
  /// Sends that went to the MPI below.
  std::uint64_t below_to_other_hosts = 0;
  std::uint64_t below_on_unknown_comms = 0;
  /// Bytes of the buffer that the program has attached for MPI_Bsend.
  std::size_t attached_bytes = 0;

  /// Goes on with local messages, and now and then with what the MPI below has
  /// begun. For calls of the program that test.
  void progress() {
    const bool has_moved = engine.progress();
    if (++steps_ % 16 == 0) {
      requests.progress_below();
      rouse_peers(has_moved);
    }
  }

 private:
  void rouse_peers(bool has_moved);

  std::uint32_t steps_ = 0;  ///< Calls of progress().
  /// Since when calls that test have found nothing; and when they wake peers.
  std::chrono::steady_clock::time_point idle_since_{};
  std::chrono::microseconds next_wake_{};
};

/// The gate of this process. It outlives the job.
Gate& gate() noexcept;

/// A call of the program: inside of the gate while it lives. False if HMPI is
/// not at work, or if the MPI below made the call while it works for HMPI:
/// then the call passes through.
class Call {
 public:
  Call() noexcept;

  ~Call() {
    if (is_inside_) {
      leave();
    }
  }

  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  explicit operator bool() const noexcept { return is_inside_; }

  /// Leaves the gate before the end, and the call passes through.
  void leave() noexcept;

 private:
  bool is_inside_;
};

/// Outside of the gate for a block of a call: around a function of the MPI
/// below that waits for other processes.
class Outside {
 public:
  Outside() noexcept { gate().leave(); }

  ~Outside() { gate().enter(); }

  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;
};

/// The job. Inside of the gate.
Job& job() noexcept;

/// Joins the other processes of the world, after MPI_Init. If that is not
/// possible, all messages pass through, and one line says why. Whether several
/// threads of the program call at a time, and whether the MPI below allows it.
void begin_job(bool has_threads, bool has_threads_below);
/// Waits until all messages are received, and leaves the ACP job.
void end_job_of_world();

}  // namespace hmpi
