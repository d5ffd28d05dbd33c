// Checks and the list of cases for the MPI programs of this folder. These
// programs know nothing of HMPI: they run over any MPI, with it and without.
#pragma once

// The C++ bindings of old MPI libraries are not wanted.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace mpi_check {

/// Rank and number of ranks in MPI_COMM_WORLD, and the running case. main()
/// sets them before the first case.
inline int world_rank = 0;
inline int world_size = 1;
inline const char* running_case = "";

/// --strict: the checks that a known fault of a plain MPI library would fail
/// are made as well. A library that does without these faults passes them.
inline bool is_strict = false;

#ifdef OPEN_MPI
inline constexpr bool kIsOpenMpi = true;
#else
inline constexpr bool kIsOpenMpi = false;
#endif
#ifdef MPICH_VERSION
inline constexpr bool kIsMpich = true;
#else
inline constexpr bool kIsMpich = false;
#endif

/// May a check be made that this library fails when it is alone?
inline bool trusts(bool is_faulty_library) {
  return is_strict || !is_faulty_library;
}

/// All threads count here. main() reads it when no thread runs.
inline std::atomic<long> checks_passed{0};

/// Names the place and the values, and ends the job.
[[noreturn]] inline void fail(const char* file,
                              int line,
                              const std::string& what) {
  std::fprintf(stderr, "%s:%d: rank %d of %d: case %s: %s\n", file, line,
               world_rank, world_size, running_case, what.c_str());
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

template <class Left, class Right>
void check_equal(const Left& left,
                 const Right& right,
                 const char* text,
                 const char* file,
                 int line) {
  if (left == right) {
    checks_passed.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  std::ostringstream out;
  out << text << ": " << left << " != " << right;
  fail(file, line, out.str());
}

inline void check_true(bool holds,
                       const char* text,
                       const char* file,
                       int line) {
  if (!holds) fail(file, line, std::string("not true: ") + text);
  checks_passed.fetch_add(1, std::memory_order_relaxed);
}

#define CHECK(condition) \
  ::mpi_check::check_true((condition), #condition, __FILE__, __LINE__)
#define CHECK_EQUAL(left, right)                                           \
  ::mpi_check::check_equal((left), (right), #left " == " #right, __FILE__, \
                           __LINE__)

/// Fails if a wait takes longer than two minutes. Loops that poll ask it.
class Deadline {
 public:
  /// True until the time is over; then the job ends.
  bool waits(const char* for_what) const {
    if (std::chrono::steady_clock::now() < end_) return true;
    fail(__FILE__, __LINE__, std::string("waited too long for ") + for_what);
  }

 private:
  std::chrono::steady_clock::time_point end_ =
      std::chrono::steady_clock::now() + std::chrono::minutes(2);
};

enum class Threads { kOne, kSeveral };

struct Case {
  const char* name;
  void (*body)();
  Threads threads;
};

/// All cases of the program, in the order of their files.
inline std::vector<Case>& all_cases() {
  static std::vector<Case> cases;
  return cases;
}

/// Puts a case on the list before main() runs.
struct Registration {
  Registration(const char* name, void (*body)(), Threads threads) {
    all_cases().push_back({name, body, threads});
  }
};

#define MPI_CASE_JOIN_(a, b) a##b
#define MPI_CASE_JOIN(a, b) MPI_CASE_JOIN_(a, b)
#define MPI_CASE_OF(name, threads)                                             \
  static void MPI_CASE_JOIN(case_body_, __LINE__)();                           \
  static const ::mpi_check::Registration MPI_CASE_JOIN(case_entry_, __LINE__)( \
      name, &MPI_CASE_JOIN(case_body_, __LINE__), threads);                    \
  static void MPI_CASE_JOIN(case_body_, __LINE__)()

/// A case that all ranks of the world run. It ends with no message in flight.
#define MPI_CASE(name) MPI_CASE_OF(name, ::mpi_check::Threads::kOne)

/// A case that needs MPI_THREAD_MULTIPLE.
#define MPI_THREADS_CASE(name) MPI_CASE_OF(name, ::mpi_check::Threads::kSeveral)

/// The class of an error code.
inline int error_class(int code) {
  int result = MPI_SUCCESS;
  MPI_Error_class(code, &result);
  return result;
}

/// The ranks that this rank sends to and receives from in one step of an
/// exchange between all ranks. Step 0 is the rank itself.
struct Peers {
  int to;
  int from;
};

inline Peers peers_of(int step) {
  return {(world_rank + step) % world_size,
          (world_rank - step + world_size) % world_size};
}

}  // namespace mpi_check
