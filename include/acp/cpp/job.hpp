// The job that the program is part of. Include <acp/acp.hpp>.
#ifndef ACP_CPP_JOB_HPP
#define ACP_CPP_JOB_HPP

#include <chrono>
#include <exception>

#include "acp/cpp/future.hpp"

namespace acp {
inline namespace face {

/// The number of ranks, and this process's, 0 .. ranks() - 1. Each throws
/// ACPX_NOT_INITIALIZED and ACPX_FINALIZED.
inline int ranks() {
  const int number = acp_procs();
  if (number < 0) {
    detail::fail("acp_procs");
  }
  return number;
}

inline int rank() {
  const int number = acp_rank();
  if (number < 0) {
    detail::fail("acp_rank");
  }
  return number;
}

/// A barrier of all ranks. Collective; blocks. It completes no operations.
inline void sync() {
  if (acp_sync() != 0) {
    detail::fail("acp_sync");
  }
}

/// sync() with a time limit. False: not all ranks have come; the next sync()
/// goes on with this barrier.
inline bool sync_for(std::chrono::nanoseconds time) {
  const int answer = acpx_sync_timeout(detail::limit_of(time));
  if (answer < 0) {
    detail::fail("acpx_sync_timeout");
  }
  return answer == 0;
}

/// Ends the job of all ranks at once, with status 1.
[[noreturn]] inline void abort(const char* text) {
  acp_abort(text);
  std::terminate();  // Not reached: acp_abort does not return.
}

/// The job, from acp_init to acp_finalize. Make one in main(), before all other
/// objects of this header, so that it ends after them.
///
/// Both ends are collective. When an exception leaves the block of the job, the
/// other ranks do not come to its end: then the destructor ends the job of all
/// ranks with a line instead of waiting for them.
class job {
 public:
  job() : job(nullptr, nullptr) {}

  /// Takes the words of ACP (--acp-...) out of the command line of main().
  job(int& argc, char**& argv) : job(&argc, &argv) {}

  job(const job&) = delete;
  job& operator=(const job&) = delete;

  ~job() {
    if (is_over_) {
      return;
    }
    if (std::uncaught_exceptions() > exceptions_) {
      acp_abort("an exception has left the block of acp::job on this rank");
    }
    leave();
  }

  int rank() const { return acp::rank(); }

  int ranks() const { return acp::ranks(); }

  void sync() const { acp::sync(); }

  /// Network paths, 1 or more.
  int colors() const { return acp_colors(); }

  /// Gives every process a new rank. Collective; one thread. All objects of
  /// before are dead, and their owners do nothing any more.
  void reset(int rank) {
    detail::free_landings();
    if (acp_reset(rank) != 0) {
      detail::fail("acp_reset");
    }
    detail::g_epoch.fetch_add(1, std::memory_order_relaxed);
  }

  /// Ends the job before the destructor does, and throws if that fails.
  void finalize() {
    is_over_ = true;
    if (leave() != 0) {
      detail::fail("acp_finalize");
    }
  }

 private:
  job(int* argc, char*** argv) : exceptions_(std::uncaught_exceptions()) {
    if (acp_init(argc, argv) != 0) {
      detail::fail("acp_init");
    }
  }

  static int leave() noexcept {
    detail::free_landings();
    const int answer = acp_finalize();
    detail::g_epoch.fetch_add(1, std::memory_order_relaxed);
    return answer;
  }

  int exceptions_;        ///< Under way when the job began.
  bool is_over_ = false;  ///< Written by finalize().
};

}  // namespace face
}  // namespace acp

#endif  // ACP_CPP_JOB_HPP
