// Calls of a program to which memory is refused. The programs are no_memory.cc
// and no_memory_qmp.cc. Rank 0 is refused, and the other ranks make their part
// of calls that need them. A call either succeeds, or fails with the error for
// want of memory and has changed nothing: then it succeeds when it is repeated.
#pragma once

#include <functional>
#include <string_view>

namespace refused {

constexpr int kRounds = 40;  ///< More than any call's first allocations.

/// The error of the last call, in the interface that the program tests.
struct Errors {
  void (*clear)();
  long (*number)();
  long no_memory;  ///< The number for want of memory.
};

/// Reads a program's only argument, which says when memory is refused:
///   once   one allocation of each call is refused
///   limit  from one allocation on, only memory that was freed can be had
///   empty  as limit, and the reserve is incomplete when the call begins
/// False: it is none of these.
bool read_mode(std::string_view word);

void set_errors(const Errors& errors);

/// Ends the job with a line when `holds` is false.
void require(bool holds, const char* what, const char* name, int round);

/// One call, which returns whether it has succeeded.
using Call = std::function<bool()>;

/// Makes the call while its `round`-th allocation is refused, and then once
/// more if it has failed.
void attempt(const char* name, int round, const Call& call);

/// Makes the call kRounds times.
void repeat(const char* name, const Call& call);

/// Prints, on rank 0, in how many rounds memory was refused and how many calls
/// have failed.
void print_counts();

}  // namespace refused
