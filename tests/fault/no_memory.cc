// Each call of the interface while memory is refused at its K-th allocation,
// for K from 1 on; no_memory_test.cc runs it. Rank 0 is refused, and rank 1
// makes its part of calls that need one. A call either succeeds, or fails with
// ACPX_NO_MEMORY and has changed nothing: it succeeds when it is repeated, and
// the structures have as many elements as calls have succeeded.
//   no_memory once|limit|empty
// With "empty" the reserve is incomplete when the call begins.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string_view>

#include <acp.h>
#include <acp/extension.h>

#include "fault/refused_memory.h"

namespace {

constexpr int kRounds = 40;  ///< More than any call's first allocations.

refused::Mode g_mode = refused::Mode::kOnce;
bool g_uses_reserve = false;
long g_hits = 0;    ///< Rounds in which memory was refused.
long g_errors = 0;  ///< Rounds in which the call failed for it.

void require(bool holds, const char* what, const char* name, int round) {
  if (holds) return;
  refused::end();
  std::printf("rank %d: %s, round %d: %s (acp_errno %d)\n", acp_rank(), name,
              round, what, acp_errno);
  std::exit(3);
}

/// One call, which returns whether it has succeeded.
using Call = std::function<bool()>;

void attempt(const char* name, int round, const Call& call) {
  acp_errno = 0;
  if (acp_rank() != 0) {
    require(call(), "fails", name, round);
    return;
  }
  refused::begin(g_mode, g_uses_reserve ? 1 : round);
  // The reserve gives way for the program's own memory, and stays incomplete.
  std::unique_ptr<char[]> own(g_uses_reserve ? new char[1000] : nullptr);
  const bool is_done = call();
  const int error = acp_errno;
  const bool was_hit = refused::end();
  // A copy inside of the host asks for no memory, and leaves the reserve as the
  // program's own allocation has left it.
  if (g_uses_reserve) acp_free(acp_malloc(8, acp_rank()));
  g_hits += was_hit ? 1 : 0;
  if (is_done) return;
  ++g_errors;
  require(was_hit, "fails without a reason", name, round);
  require(error == ACPX_NO_MEMORY, "fails for another reason", name, round);
  acp_errno = 0;
  require(call(), "fails when it is repeated", name, round);
}

void repeat(const char* name, const Call& call) {
  for (int round = 1; round <= kRounds; ++round)
    attempt(name, round, call);
}

/// A void function has succeeded when it has set no error.
template <typename Function>
Call silent(Function function) {
  return [function] {
    acp_errno = 0;
    function();
    return acp_errno == 0;
  };
}

void test_memory(acp_ga_t far) {
  static char region[4096];
  for (int round = 1; round <= kRounds; ++round) {
    acp_atkey_t key = ACP_ATKEY_NULL;
    attempt("acp_register_memory", round, [&] {
      return (key = acp_register_memory(region, sizeof region, 0)) !=
             ACP_ATKEY_NULL;
    });
    attempt("acp_unregister_memory", round,
            [&] { return acp_unregister_memory(key) == 0; });
  }
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  repeat("acp_copy", [&] {
    const acp_handle_t handle = acp_copy(far + 64, mine, 2048, ACP_HANDLE_NULL);
    if (handle == ACP_HANDLE_NULL) return false;
    acp_complete(handle);
    return acp_errno == 0;
  });
  repeat("acp_add8", [&] {
    const acp_handle_t handle =
        acp_add8(mine + 8, far + 4096, 1, ACP_HANDLE_NULL);
    if (handle == ACP_HANDLE_NULL) return false;
    acp_complete(handle);
    return acp_errno == 0;
  });
  repeat("many acp_copy", [&] {
    for (int i = 0; i < 500; ++i) {
      if (acp_copy(far + 64, mine, 2048, ACP_HANDLE_NULL) == ACP_HANDLE_NULL) {
        const int error = acp_errno;
        acp_complete(ACP_HANDLE_ALL);
        acp_errno = error;
        return false;
      }
    }
    acp_complete(ACP_HANDLE_ALL);
    return acp_errno == 0;
  });
  acp_sync();
  std::uint64_t sum = 0;
  std::memcpy(&sum, acp_query_address(mine + 4096), sizeof sum);
  require(sum == kRounds, "another sum of acp_add8", "acp_add8", 0);
  for (int round = 1; round <= kRounds; ++round) {
    acp_ga_t block = ACP_GA_NULL;
    attempt("acp_malloc", round, [&] {
      return (block = acp_malloc(100'000, 1 - acp_rank())) != ACP_GA_NULL;
    });
    attempt("acp_free", round, silent([&] { acp_free(block); }));
  }
}

void test_structures() {
  const int other = 1 - acp_rank();
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  int ranks[] = {0, 1};
  acp_list_t list{};
  acp_vector_t vector{};
  acp_deque_t deque{};
  acp_map_t map{};
  attempt("acp_create_list", 1,
          [&] { return (list = acp_create_list(other)).ga != ACP_GA_NULL; });
  attempt("acp_create_vector", 1, [&] {
    return (vector = acp_create_vector(0, other)).ga != ACP_GA_NULL;
  });
  attempt("acp_create_deque", 1, [&] {
    return (deque = acp_create_deque(0, other)).ga != ACP_GA_NULL;
  });
  attempt("acp_create_map", 1, [&] {
    return (map = acp_create_map(2, ranks, 16, other)).ga != ACP_GA_NULL;
  });
  repeat("acp_push_back_list", silent([&] {
           acp_push_back_list(list, {mine, 8}, other);
         }));
  repeat("acp_push_back_vector",
         silent([&] { acp_push_back_vector(vector, mine, 8); }));
  repeat("acp_push_back_deque",
         silent([&] { acp_push_back_deque(deque, mine, 8); }));
  auto* key = static_cast<std::uint64_t*>(acp_query_address(mine + 32));
  *key = 0;
  for (int round = 1; round <= kRounds; ++round) {
    ++*key;
    attempt("acp_insert_map", round, silent([&] {
              acp_insert_map(map, {{mine + 32, 8}, {mine, 8}});
            }));
  }
  require(acp_size_list(list) == kRounds, "another size", "list", 0);
  require(acp_size_vector(vector) == 8 * kRounds, "another size", "vector", 0);
  require(acp_size_deque(deque) == 8 * kRounds, "another size", "deque", 0);
  require(acp_size_map(map) == kRounds, "another size", "map", 0);
  attempt("acp_sort_list", 1, silent([&] {
            acp_sort_list(list, [](acp_element_t a, acp_element_t b) {
              return static_cast<int>(a.ga < b.ga) -
                     static_cast<int>(b.ga < a.ga);
            });
          }));
  acp_destroy_map(map);
  acp_destroy_deque(deque);
  acp_destroy_vector(vector);
  acp_destroy_list(list);
}

/// Rank 1 receives the messages of rank 0.
void test_channels() {
  static char bytes[100'000];
  for (int round = 1; round <= kRounds; ++round) {
    acp_ch_t channel = ACP_CH_NULL;
    attempt("acp_create_ch", round,
            [&] { return (channel = acp_create_ch(0, 1)) != ACP_CH_NULL; });
    for (const std::size_t size : {std::size_t{100}, sizeof bytes}) {
      acp_request_t request = ACP_REQUEST_NULL;
      attempt("acp_nbsend_ch", round, [&] {
        request = acp_rank() == 0 ? acp_nbsend_ch(channel, bytes, size)
                                  : acp_nbrecv_ch(channel, bytes, size);
        return request != ACP_REQUEST_NULL;
      });
      attempt("acp_wait_ch", round, [&] {
        // The sender's size is not told to it.
        return acp_wait_ch(request) == size || acp_rank() == 0;
      });
    }
    attempt("acp_free_ch", round, [&] { return acp_free_ch(channel) == 0; });
  }
}

void test_collective_calls() {
  repeat("acp_sync", [] { return acp_sync() == 0; });
  for (int round = 1; round <= kRounds; ++round) {
    acp_wsd_t space{};
    attempt("acp_create_ws", round,
            [&] { return (space = acp_create_ws(1000)) != ACP_WSD_NULL; });
    attempt("acp_destroy_ws", round, silent([&] { acp_destroy_ws(space); }));
  }
  for (int round = 1; round <= kRounds; round += 4)
    attempt("acp_reset", round, [] { return acp_reset(acp_rank()) == 0; });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  const std::string_view mode = argv[1];
  if (mode != "once") g_mode = refused::Mode::kLimit;
  g_uses_reserve = mode == "empty";
  if (acp_init(&argc, &argv) != 0 || acp_procs() != 2) return 1;
  acp_sync();
  test_memory(acp_query_starter_ga(1 - acp_rank()));
  acp_sync();
  test_structures();
  acp_sync();
  test_channels();
  test_collective_calls();
  if (acp_sync() != 0) return 2;
  if (acp_rank() == 0) {
    std::printf("memory was refused in %ld rounds, and %ld calls failed\n",
                g_hits, g_errors);
  }
  return acp_finalize();
}
