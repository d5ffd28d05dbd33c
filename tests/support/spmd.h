// Test programs that run as ranks of a job, over the public interface alone.
// They have named cases, checks that end the job, a seed, a scale, and a
// watchdog.
//
//   SPMD_CASE(acp_copy_to_itself, "acp_copy: copies within one rank") {
//     EXPECT_EQ(acp_rank(), 0);
//   }
//
// `acprun -np N program` runs every case on every rank, in the order of the
// file; `program case...` runs some, `program --list` names them. Link
// acp_spmd, which has main(); a program with a main() of its own calls the
// three functions below. Cases start and end together on all ranks, with
// nothing outstanding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <sstream>
#include <string>
#include <string_view>

#include "acp.h"
#include "acp/extension.h"

namespace spmd {

/// Seconds that a case may take before the watchdog ends the job, at scale 0.
inline constexpr unsigned kCaseSeconds = 150;

/// A time limit for waits that have to end, in milliseconds.
inline constexpr int kPatience = 60'000;

/// The code of a case and its names. The constructor adds it to the list of
/// cases by address, so it must not move.
struct Case {
  Case(const char* case_id, const char* case_text, void (*function)());

  const char* id;
  const char* text;
  void (*run)();
};

/// Prints the names of the cases and returns true if the command line is
/// `--list`. main() calls it first.
bool list_cases(int argc, char** argv);
/// Starts the watchdog, which ends the program when a case, joining or leaving
/// hangs. main() calls it before acp_init.
void watch_time();
/// Runs the cases that the command line chooses. main() calls it inside the job
/// and exits with the result.
int run_chosen(int argc, char** argv);

/// ACP_TEST_SCALE: 1 is the full size of the heavy cases; 0.1 when unset.
double scale();

/// `full` repetitions scaled down, `least` at the fewest.
std::size_t scaled(std::size_t full, std::size_t least = 16);

/// scaled() for operations that each wait for a flight. Over udp the count is
/// lower with more than two ranks (at full scale, more than four), which share
/// the processors that the network needs. With faults it is at most 2,000.
std::size_t scaled_flights(std::size_t full);

/// A generator seeded by the case's name, this rank and `salt`.
std::mt19937_64 random_of_rank(std::uint64_t salt = 0);
/// A generator seeded by the case's name and `salt`: equal on every rank.
std::mt19937_64 random_of_job(std::uint64_t salt = 0);

/// A line of a test, which failure messages name. clang 14 has no
/// std::source_location.
struct SourceLine {
  /// The line of the call. As the default of a parameter, the line of that
  /// function's call.
  static constexpr SourceLine current(const char* file = __builtin_FILE(),
                                      int number = __builtin_LINE()) {
    return {file, number};
  }

  const char* file;
  int number;
};

/// Prints rank, source line and `text`, and ends the job with a failure.
[[noreturn]] void fail(const std::string& text,
                       SourceLine where = SourceLine::current());

/// Says on rank 0 that the case does not apply to this job.
void note_skip(std::string_view why);

/// The rank to the right in a ring of all ranks.
inline int right_of(int rank) {
  return (rank + 1) % acp_procs();
}

template <typename A, typename B>
void expect_equal(const A& a, const B& b, const char* text, SourceLine where) {
  if (a == static_cast<A>(b)) {
    return;
  }
  std::ostringstream out;
  out << text << ": " << a << " is not " << b;
  fail(out.str(), where);
}

/// Expects that an operation fails with `code`, at once or later: `handle` is
/// ACP_HANDLE_NULL, or it completes as failed. Collects the failure.
void expect_rejected(acp_handle_t handle,
                     int code,
                     const char* text,
                     SourceLine where);

}  // namespace spmd

#define SPMD_CASE(id, text)                              \
  static void id();                                      \
  static const spmd::Case id##_case{#id, (text), &(id)}; \
  static void id()

/// Leaves the case on all ranks unless the job has `n` ranks or more.
#define SPMD_NEEDS_RANKS(n)                \
  if (acp_procs() < (n)) {                 \
    spmd::note_skip("needs " #n " ranks"); \
    return;                                \
  }                                        \
  static_cast<void>(0)

#define EXPECT(condition)             \
  ((condition) ? static_cast<void>(0) \
               : spmd::fail("EXPECT(" #condition ") is false"))

#define EXPECT_EQ(a, b)                                     \
  spmd::expect_equal((a), (b), "EXPECT_EQ(" #a ", " #b ")", \
                     spmd::SourceLine::current())

/// Expects that the call returns `failure` and sets acp_errno to `code`.
#define EXPECT_FAILS(call, failure, code) \
  do {                                    \
    acp_errno = 0;                        \
    EXPECT_EQ((call), (failure));         \
    EXPECT_EQ(acp_errno, (code));         \
    acp_errno = 0;                        \
  } while (false)

/// Expects that a void function sets acp_errno to `code`.
#define EXPECT_ERRNO(call, code)  \
  do {                            \
    acp_errno = 0;                \
    (call);                       \
    EXPECT_EQ(acp_errno, (code)); \
    acp_errno = 0;                \
  } while (false)

/// Expects that an operation fails with `code`, at once or in its turn.
#define EXPECT_REJECTED(call, code)                                     \
  do {                                                                  \
    acp_errno = 0;                                                      \
    spmd::expect_rejected((call), (code), "EXPECT_REJECTED(" #call ")", \
                          spmd::SourceLine::current());                 \
  } while (false)

/// Expects that an operation is accepted and completes without a failure.
#define EXPECT_DONE(call)                                                \
  do {                                                                   \
    const acp_handle_t expected_done = (call);                           \
    EXPECT(expected_done != ACP_HANDLE_NULL);                            \
    EXPECT_EQ(acpx_complete_timeout(expected_done, spmd::kPatience), 0); \
  } while (false)
