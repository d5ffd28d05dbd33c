// Makes one operation many times between two ranks of one host, for a count of
// its instructions: cost OPERATION. cost_test.sh counts in measure(). Rank 0
// works, on memory of rank 1. Operations whose name ends with ".inline" are
// made without a call.
#define ACP_INLINE

#include <sched.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>

#include "acp.h"
#include "acp/extension.h"

namespace {

constexpr std::uint64_t kTimes = 1000;
/// Offset in starter memory of a word that tells rank 1 to end.
constexpr std::uint64_t kEnd = 1024;

/// Memory and structures that the operations work on.
struct Room {
  acp_ga_t mine = acp_query_starter_ga(0);
  acp_ga_t theirs = acp_query_starter_ga(1);
  std::uint64_t* words = static_cast<std::uint64_t*>(acp_query_address(mine));
  acp_map_t map{};
  acp_vector_t vector{};
  acp_deque_t deque{};
  acp_list_t list{};
};

void repeat(const auto& call) {
  for (std::uint64_t i = 0; i < kTimes; ++i)
    call(i);
}

using Operations = std::map<std::string, std::function<void(Room&)>>;

/// Names without parentheses are macros of acp/inline.h; in parentheses they
/// are the functions.
void add_accesses(Operations& all) {
  all["put8"] = [](Room& r) {
    repeat([&](std::uint64_t) {
      (acp_complete)((acp_copy)(r.theirs, r.mine, 8, ACP_HANDLE_NULL));
    });
  };
  all["put8.inline"] = [](Room& r) {
    repeat([&](std::uint64_t) {
      acp_complete(acp_copy(r.theirs, r.mine, 8, ACP_HANDLE_NULL));
    });
  };
  all["get8"] = [](Room& r) {
    repeat([&](std::uint64_t) {
      (acp_complete)((acp_copy)(r.mine, r.theirs, 8, ACP_HANDLE_NULL));
    });
  };
  all["get8.inline"] = [](Room& r) {
    repeat([&](std::uint64_t) {
      acp_complete(acp_copy(r.mine, r.theirs, 8, ACP_HANDLE_NULL));
    });
  };
  all["put64"] = [](Room& r) {
    repeat([&](std::uint64_t) {
      (acp_complete)((acp_copy)(r.theirs, r.mine, 64, ACP_HANDLE_NULL));
    });
  };
  all["put64.inline"] = [](Room& r) {
    repeat([&](std::uint64_t) {
      acp_complete(acp_copy(r.theirs, r.mine, 64, ACP_HANDLE_NULL));
    });
  };
}

void add_atomics(Operations& all) {
  all["add8"] = [](Room& r) {
    repeat([&](std::uint64_t i) {
      (acp_complete)((acp_add8)(r.mine, r.theirs, i, ACP_HANDLE_NULL));
    });
  };
  all["add8.inline"] = [](Room& r) {
    repeat([&](std::uint64_t i) {
      acp_complete(acp_add8(r.mine, r.theirs, i, ACP_HANDLE_NULL));
    });
  };
  all["cas8"] = [](Room& r) {
    repeat([&](std::uint64_t i) {
      (acp_complete)((acp_cas8)(r.mine, r.theirs, i, i + 1, ACP_HANDLE_NULL));
    });
  };
  all["cas8.inline"] = [](Room& r) {
    repeat([&](std::uint64_t i) {
      acp_complete(acp_cas8(r.mine, r.theirs, i, i + 1, ACP_HANDLE_NULL));
    });
  };
  all["signal64"] = [](Room& r) {
    repeat([&](std::uint64_t) {
      (acp_complete)((acpx_put_signal)(r.theirs + 64, r.mine, 64, r.theirs, 1,
                                       ACP_HANDLE_NULL));
    });
  };
  all["signal64.inline"] = [](Room& r) {
    repeat([&](std::uint64_t) {
      acp_complete(acpx_put_signal(r.theirs + 64, r.mine, 64, r.theirs, 1,
                                   ACP_HANDLE_NULL));
    });
  };
}

/// A map of 4,000 keys has 1,000 others inserted, and 500 found twice.
void add_structures(Operations& all) {
  const auto word = [](Room& r, std::uint64_t value) {
    *r.words = value;
    return acp_element_t{r.mine, 8};
  };
  all["map.insert"] = [word](Room& r) {
    repeat([&](std::uint64_t i) {
      const acp_element_t element = word(r, 10'000 + i);
      acp_insert_map(r.map, {element, element});
    });
  };
  all["map.find"] = [word](Room& r) {
    repeat([&](std::uint64_t i) {
      const acp_element_t element = word(r, i % 500);
      (void)acp_retrieve_map(r.map, {element, {r.mine + 8, 8}});
    });
  };
  all["vector.push"] = [](Room& r) {
    repeat([&](std::uint64_t) { acp_push_back_vector(r.vector, r.mine, 8); });
  };
  all["deque.push"] = [](Room& r) {
    repeat([&](std::uint64_t) { acp_push_back_deque(r.deque, r.mine, 8); });
  };
  all["list.push"] = [word](Room& r) {
    repeat([&](std::uint64_t i) { acp_push_back_list(r.list, word(r, i), 1); });
  };
}

void open_structures(Room& r) {
  const int ranks[] = {1};
  r.map = acp_create_map(1, ranks, 8192, 1);
  r.vector = acp_create_vector(0, 1);
  acp_reserve_vector(r.vector, 1 << 16);
  r.deque = acp_create_deque(0, 1);
  acp_reserve_deque(r.deque, 1 << 16);
  r.list = acp_create_list(1);
  for (std::uint64_t i = 0; i < 4000; ++i) {
    *r.words = i;
    acp_insert_map(r.map, {{r.mine, 8}, {r.mine, 8}});
  }
  // The heap of rank 1 is known, and the paths are warm.
  acp_push_back_list(r.list, {r.mine, 8}, 1);
}

/// Rank 1 does not sleep in a call, from which signals would wake it.
void wait_for_the_end() {
  auto* starter =
      static_cast<char*>(acp_query_address(acp_query_starter_ga(acp_rank())));
  std::atomic_ref end(*reinterpret_cast<std::uint64_t*>(starter + kEnd));
  while (end.load() == 0)
    ::sched_yield();
}

}  // namespace

/// The function whose instructions are counted, by its name.
extern "C" [[gnu::noinline]] void measure(
    Room& room, const std::function<void(Room&)>& operation) {
  operation(room);
}

int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0 || argc != 2) return 2;
  Operations all;
  add_accesses(all);
  add_atomics(all);
  add_structures(all);
  const auto found = all.find(argv[1]);
  if (found == all.end()) {
    std::fprintf(stderr, "cost: there is no operation \"%s\"\n", argv[1]);
    return 2;
  }
  if (acp_rank() == 0) {
    Room room;
    open_structures(room);
    measure(room, found->second);
    *room.words = 1;
    acp_complete(acp_copy(room.theirs + kEnd, room.mine, 8, ACP_HANDLE_NULL));
  } else {
    wait_for_the_end();
  }
  acp_sync();
  return acp_finalize();
}
