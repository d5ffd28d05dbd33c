// The loop over the allocations of a call. Programs call it from one thread.
#include "fault/refused_calls.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

#include <acp.h>

#include "fault/refused_memory.h"

namespace refused {

namespace {

Mode g_mode = Mode::kOnce;
bool g_uses_reserve = false;
Errors g_names{};
long g_refused_rounds = 0;  ///< Rounds in which memory was refused.
long g_failed_calls = 0;    ///< Rounds in which the call failed for it.

}  // namespace

bool read_mode(std::string_view word) {
  g_mode = word == "once" ? Mode::kOnce : Mode::kLimit;
  g_uses_reserve = word == "empty";
  return word == "once" || word == "limit" || word == "empty";
}

void set_errors(const Errors& errors) {
  g_names = errors;
}

void require(bool holds, const char* what, const char* name, int round) {
  if (holds) return;
  end();
  std::printf("rank %d: %s, round %d: %s (error %ld)\n", acp_rank(), name,
              round, what, g_names.number());
  std::exit(3);
}

void attempt(const char* name, int round, const Call& call) {
  g_names.clear();
  if (acp_rank() != 0) {
    require(call(), "fails", name, round);
    return;
  }
  std::unique_ptr<char[]> own;
  if (g_uses_reserve) {
    own = begin_without_reserve();
  } else {
    begin(g_mode, round);
  }
  const bool is_done = call();
  const long error = g_names.number();
  const bool was_hit = end();
  // A copy inside of the host asks for no memory, and leaves the reserve as the
  // program's own allocation has left it.
  if (g_uses_reserve) acp_free(acp_malloc(8, acp_rank()));
  g_refused_rounds += was_hit ? 1 : 0;
  if (is_done) return;
  ++g_failed_calls;
  require(was_hit, "fails without a reason", name, round);
  require(error == g_names.no_memory, "fails for another reason", name, round);
  g_names.clear();
  require(call(), "fails when it is repeated", name, round);
}

void repeat(const char* name, const Call& call) {
  for (int round = 1; round <= kRounds; ++round)
    attempt(name, round, call);
}

void print_counts() {
  if (acp_rank() != 0) return;
  std::printf("memory was refused in %ld rounds, and %ld calls failed\n",
              g_refused_rounds, g_failed_calls);
}

}  // namespace refused
