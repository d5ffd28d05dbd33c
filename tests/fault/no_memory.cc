// Each call of the interface while memory is refused at its K-th allocation,
// for K from 1 on; no_memory_test.cc runs it. Rank 0 is refused, and rank 1
// makes its part of calls that need one. A call either succeeds, or fails with
// ACPX_NO_MEMORY and has changed nothing: it succeeds when it is repeated, and
// the structures have as many elements as calls have succeeded.
//   no_memory once|limit|empty
#include <cstdint>
#include <cstring>

#include <acp.h>
#include <acp/extension.h>

#include "fault/refused_calls.h"

namespace {

using refused::attempt;
using refused::Call;
using refused::kRounds;
using refused::repeat;
using refused::require;

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

/// Each rank has two sets, with their slots on both ranks.
void test_sets() {
  const int other = 1 - acp_rank();
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  const acp_element_t key{mine + 32, 8};
  auto* number = static_cast<std::uint64_t*>(acp_query_address(key.ga));
  int ranks[] = {0, 1};
  acp_set_t set{};
  acp_set_t copy{};
  for (acp_set_t* one : {&set, &copy}) {
    attempt("acp_create_set", 1, [&] {
      *one = acp_create_set(2, ranks, 16, other);
      return one->ga != ACP_GA_NULL;
    });
  }
  for (int round = 1; round <= kRounds; ++round) {
    *number = static_cast<std::uint64_t>(round);
    attempt("acp_insert_set", round, silent([&] { acp_insert_set(set, key); }));
  }
  require(acp_size_set(set) == kRounds, "another size", "set", 0);
  for (int round = 1; round <= kRounds; ++round) {
    attempt("acp_find_set", round, silent([&] { acp_find_set(set, key); }));
    attempt("acp_assign_set", round,
            silent([&] { acp_assign_set(copy, set); }));
    require(acp_size_set(copy) == kRounds, "another size", "copy", round);
    attempt("acp_clear_set", round, silent([&] { acp_clear_set(copy); }));
    attempt("acp_merge_set", round, silent([&] { acp_merge_set(copy, set); }));
    require(acp_size_set(copy) == kRounds, "another size", "merged", round);
  }
  for (int round = 1; round <= kRounds; ++round) {
    *number = static_cast<std::uint64_t>(round);
    attempt("acp_remove_set", round, silent([&] { acp_remove_set(set, key); }));
  }
  require(acp_size_set(set) == 0, "another size", "emptied set", 0);
  for (const acp_set_t one : {copy, set})
    attempt("acp_destroy_set", 1, silent([&] { acp_destroy_set(one); }));
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
  if (argc != 2 || !refused::read_mode(argv[1])) return 1;
  refused::set_errors({[] { acp_errno = 0; },
                       []() -> long { return acp_errno; }, ACPX_NO_MEMORY});
  if (acp_init(&argc, &argv) != 0 || acp_procs() != 2) return 1;
  acp_sync();
  test_memory(acp_query_starter_ga(1 - acp_rank()));
  acp_sync();
  test_structures();
  acp_sync();
  test_sets();
  acp_sync();
  test_channels();
  test_collective_calls();
  if (acp_sync() != 0) return 2;
  refused::print_counts();
  return acp_finalize();
}
