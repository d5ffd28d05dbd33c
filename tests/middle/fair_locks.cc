// Tests of the order in which ranks get the lock of a data structure. A rank
// holds the lock while others join the queue one after the other, and then
// competes with them. Also many contended operations at once. The places of the
// words are those of docs/containers.md.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "middle/structure/site.h"
#include "middle/table/layout.h"
#include "support/spmd.h"
#include "support/spmd_memory.h"

namespace {

namespace structure = acp::middle::structure;
namespace table = acp::middle::table;

// Words of a control.
constexpr std::size_t kField = 2;
constexpr std::size_t kQueue = 8;
constexpr std::size_t kSync = 10;

constexpr std::uint64_t kFrozen = std::uint64_t{1} << 63;

int last_rank() {
  return acp_procs() - 1;
}

/// The number of the module that has this control: of the modules, that which
/// begins last before it.
int module_of(acp_ga_t control) {
  const int rank = acp_query_rank(control);
  int module = -1;
  acp_ga_t nearest = ~acp_ga_t{0};
  for (int i = 0; i < 1000; ++i) {
    const acp_ga_t begin = acpx_module_ga(i, rank);
    if (begin != ACP_GA_NULL && control - begin < nearest) {
      nearest = control - begin;
      module = i;
    }
  }
  acp_errno = 0;  // numbers that are no module have set it
  EXPECT_EQ((nearest - structure::kControlsOffset) % structure::kControlBytes,
            acp_ga_t{0});
  return module;
}

/// Memory of the test on every rank: sources, results, and words that the ranks
/// tell each other.
class Desk {
 public:
  Desk() : block_(spmd::Memory::kLibrary, 4096) {}

  acp_ga_t ga(std::size_t word) const { return block_.mine(word * 8); }

  std::uint64_t value(std::size_t word) const {
    return block_.word(word).load(std::memory_order_acquire);
  }

  acp_element_t put(std::size_t word, std::uint64_t value) const {
    block_.word(word).store(value, std::memory_order_release);
    return {ga(word), 8};
  }

  std::uint64_t read(acp_ga_t from) const {
    EXPECT_DONE(acp_copy(ga(100), from, 8, ACP_HANDLE_NULL));
    return value(100);
  }

  /// Lets a rank go on that is in wait_for_go().
  void let_go(int rank) const {
    EXPECT_DONE(acpx_put_signal(ACP_GA_NULL, ACP_GA_NULL, 0,
                                block_.at(rank, 101 * 8), 1, ACP_HANDLE_NULL));
  }

  void wait_for_go() const {
    EXPECT_EQ(acpx_wait_word(ga(101), 0, spmd::kPatience, nullptr), 0);
    put(101, 0);
  }

  acp_ga_t at(int rank, std::size_t word) const {
    return block_.at(rank, word * 8);
  }

 private:
  spmd::Block block_;
};

/// Waits until a thread of `rank` is the newest waiter of a queue.
void wait_for_waiter(const Desk& desk, acp_ga_t queue, int rank) {
  const std::uint64_t first =
      static_cast<std::uint64_t>(rank) * structure::kScratches;
  std::uint64_t tail = 0;
  do {
    tail = desk.read(queue + offsetof(structure::WaitQueue, tail));
  } while (tail <= first || tail > first + structure::kScratches);
}

/// A lock that this rank holds without a structure's function: the word and its
/// queue.
struct Held {
  int module;  ///< Number of the data structures' module.
  acp_ga_t word;
  acp_ga_t queue;
  acpx_opcode_t give;     ///< The step that unlocks ...
  std::uint64_t operand;  ///< ... and its operand.

  /// Unlocks as a holder that has seen no waiters, and wakes the front.
  void unlock(const Desk& desk) const {
    std::array<acpx_op_t, 2> ops{};
    ops[0].opcode = give;
    ops[0].remote = word;
    ops[0].size = 8;
    ops[0].operand = operand;
    ops[1].opcode = ACPX_GET;
    ops[1].remote = queue + offsetof(structure::WaitQueue, front);
    ops[1].local = desk.ga(102);
    ops[1].size = 8;
    EXPECT_DONE(acpx_post(ops.data(), ops.size(), ACP_HANDLE_NULL));
    const std::uint64_t front = desk.value(102);
    if (front == 0) {
      return;
    }
    const std::uint64_t index = front - 1;
    acpx_op_t wake{};
    wake.opcode = ACPX_ADD8;
    wake.flags = ACPX_SIGNAL;
    wake.remote = acpx_module_ga(
                      module, static_cast<int>(index / structure::kScratches)) +
                  structure::kNodesOffset +
                  index % structure::kScratches * sizeof(structure::WaitNode) +
                  offsetof(structure::WaitNode, looks);
    wake.size = 8;
    wake.operand = 1;
    EXPECT_DONE(acpx_post(&wake, 1, ACP_HANDLE_NULL));
  }
};

std::uint64_t me() {
  return static_cast<std::uint64_t>(acp_rank()) + 1;
}

acp_ga_t control_of(acp_ga_t handle) {
  return handle & ~acp_ga_t{63};
}

acp_ga_t queue_of(acp_ga_t handle) {
  return control_of(handle) + kQueue * 8;
}

acp_ga_t sync_of(acp_ga_t handle) {
  return control_of(handle) + (kSync + (handle & 63)) * 8;
}

/// Takes the lock of a list or a deque.
Held hold(const Desk& desk, acp_ga_t handle) {
  EXPECT_DONE(
      acp_cas8(desk.ga(103), sync_of(handle), 0, me(), ACP_HANDLE_NULL));
  EXPECT_EQ(desk.value(103), std::uint64_t{0});
  return {module_of(control_of(handle)), sync_of(handle), queue_of(handle),
          ACPX_ADD8, 0 - me()};
}

/// Freezes a vector. The unlocking drops what pushes have reserved meanwhile.
Held freeze(const Desk& desk, acp_ga_t handle) {
  EXPECT_DONE(acp_or8(desk.ga(103), sync_of(handle), kFrozen, ACP_HANDLE_NULL));
  EXPECT(desk.value(103) < kFrozen);
  return {module_of(control_of(handle)), sync_of(handle), queue_of(handle),
          ACPX_SWAP8, desk.value(103)};
}

/// Takes the lock of the only bucket of a map.
Held hold_bucket(const Desk& desk, acp_map_t map) {
  const acp_ga_t control = control_of(map.ga);
  const acp_ga_t share = desk.read(desk.read(control + kField * 8));
  const std::uint64_t uid = desk.read(control + (kField + 1) * 8);
  const acp_ga_t bucket = share + table::kShareHeaderBytes;
  EXPECT_DONE(acp_cas8(desk.ga(103), bucket,
                       table::locked_by(static_cast<std::uint32_t>(uid), 0),
                       table::locked_by(static_cast<std::uint32_t>(uid), me()),
                       ACP_HANDLE_NULL));
  EXPECT_EQ(desk.value(103), uid << 32);
  const int module = module_of(control);
  return {module, bucket,
          acpx_module_ga(module, acp_query_rank(bucket)) +
              structure::kBucketQueuesOffset +
              table::queue_number(bucket, structure::kBucketQueues) *
                  sizeof(structure::WaitQueue),
          ACPX_ADD8, 0 - me()};
}

/// Rank 0 holds a lock while each other rank in turn begins `work`. When all of
/// them wait, it unlocks and does `work` itself, several times. Collective.
void run_in_order(const Desk& desk,
                  const std::function<Held()>& take,
                  const std::function<void(std::uint64_t)>& work) {
  constexpr std::uint64_t kOwn = 20;
  acp_sync();
  if (acp_rank() == 0) {
    const Held held = take();
    for (int rank = 1; rank < acp_procs(); ++rank) {
      desk.let_go(rank);
      wait_for_waiter(desk, held.queue, rank);
    }
    held.unlock(desk);
    for (std::uint64_t i = 0; i < kOwn; ++i) {
      work(1000 + i);
    }
  } else {
    desk.wait_for_go();
    work(static_cast<std::uint64_t>(acp_rank()));
  }
  EXPECT_EQ(int{acp_errno}, 0);
  acp_sync();
}

/// Expects the ranks in the order in which they have waited. Rank 0 may come
/// once before them, because it finds the lock free when it has just unlocked.
void expect_order(const std::vector<std::uint64_t>& words) {
  std::uint64_t next = 1;
  std::size_t barged = 0;
  for (const std::uint64_t word : words) {
    if (word >= 1000) {
      barged += next < static_cast<std::uint64_t>(acp_procs()) ? 1 : 0;
    } else {
      EXPECT_EQ(word, next);
      ++next;
    }
  }
  EXPECT_EQ(next, static_cast<std::uint64_t>(acp_procs()));
  EXPECT(barged <= 1);
}

const Desk* g_desk = nullptr;
acp_list_t g_list;
bool g_has_waiters = false;

/// Compares in a sort, which holds the list's lock. Its first call lets the
/// other ranks push, and returns when all of them wait.
int compare_and_gather(const acp_element_t, const acp_element_t) {
  for (int rank = 1; rank < acp_procs() && !g_has_waiters; ++rank) {
    g_desk->let_go(rank);
    wait_for_waiter(*g_desk, queue_of(g_list.ga), rank);
  }
  g_has_waiters = true;
  return 0;
}

}  // namespace

SPMD_CASE(list_order, "list: pushes that wait for a sort come in their order") {
  SPMD_NEEDS_RANKS(2);
  const Desk desk;
  acp_list_t list{};
  if (acp_rank() == 0) {
    list = acp_create_list(last_rank());
    acp_push_back_list(list, desk.put(0, 0), 0);
    acp_push_back_list(list, desk.put(0, 0), 0);
  }
  list.ga = spmd::broadcast(list.ga, 0);
  g_desk = &desk;
  g_list = list;
  g_has_waiters = false;
  acp_sync();
  if (acp_rank() == 0) {
    acp_sort_list(list, compare_and_gather);
    for (std::uint64_t i = 0; i < 20; ++i) {
      acp_push_back_list(list, desk.put(0, 1000 + i), 0);
    }
  } else {
    desk.wait_for_go();
    acp_push_back_list(
        list, desk.put(0, static_cast<std::uint64_t>(acp_rank())), acp_rank());
  }
  acp_sync();
  if (acp_rank() == 0) {
    std::vector<std::uint64_t> words;
    for (acp_list_it_t it = acp_begin_list(list); it.elem != ACP_GA_NULL;
         it = acp_increment_list_it(it)) {
      words.push_back(desk.read(acp_dereference_list_it(it).ga));
    }
    EXPECT_EQ(words.size(), static_cast<std::size_t>(acp_procs()) + 21);
    expect_order({words.begin() + 2, words.end()});
    acp_destroy_list(list);
  }
  acp_sync();
}

SPMD_CASE(deque_order, "deque: pushes that wait come in their order") {
  SPMD_NEEDS_RANKS(2);
  const Desk desk;
  acp_deque_t deque{};
  if (acp_rank() == 0) deque = acp_create_deque(0, last_rank());
  deque.ga = spmd::broadcast(deque.ga, 0);
  run_in_order(
      desk, [&] { return hold(desk, deque.ga); },
      [&](std::uint64_t word) {
        acp_push_back_deque(deque, desk.put(0, word).ga, 8);
      });
  if (acp_rank() == 0) {
    std::vector<std::uint64_t> words;
    while (acpx_take_front_deque(deque, desk.ga(1), 8) == 1) {
      words.push_back(desk.value(1));
    }
    expect_order(words);
    acp_destroy_deque(deque);
  }
  acp_sync();
}

SPMD_CASE(vector_order, "vector: changes that wait come in their order") {
  SPMD_NEEDS_RANKS(2);
  const Desk desk;
  acp_vector_t vector{};
  if (acp_rank() == 0) vector = acp_create_vector(0, last_rank());
  vector.ga = spmd::broadcast(vector.ga, 0);
  run_in_order(
      desk, [&] { return freeze(desk, vector.ga); },
      [&](std::uint64_t word) {
        acp_insert_vector(acp_begin_vector(vector), desk.put(0, word).ga, 8);
      });
  if (acp_rank() == 0) {
    std::vector<std::uint64_t> words;  // the newest is in front
    for (int at = static_cast<int>(acp_size_vector(vector)); at > 0; at -= 8) {
      words.push_back(desk.read(acp_at_vector(vector, at - 8)));
    }
    expect_order(words);
    acp_destroy_vector(vector);
  }
  acp_sync();
}

SPMD_CASE(vector_pushes, "vector: pushes that wait for a change all come") {
  SPMD_NEEDS_RANKS(2);
  const Desk desk;
  acp_vector_t vector{};
  if (acp_rank() == 0) vector = acp_create_vector(0, last_rank());
  vector.ga = spmd::broadcast(vector.ga, 0);
  std::vector<std::uint64_t> counts(1020);
  for (int round = 1; round <= 3; ++round) {
    run_in_order(
        desk, [&] { return freeze(desk, vector.ga); },
        [&](std::uint64_t word) {
          acp_push_back_vector(vector, desk.put(0, word).ga, 8);
        });
    EXPECT_EQ(acp_size_vector(vector),
              static_cast<std::size_t>(round * 8 * (acp_procs() + 19)));
    acp_sync();
  }
  if (acp_rank() == 0) {
    for (int at = 0; at < static_cast<int>(acp_size_vector(vector)); at += 8) {
      ++counts.at(desk.read(acp_at_vector(vector, at)));
    }
    for (std::size_t word = 1; word < counts.size(); ++word) {
      const bool is_there =
          word >= 1000 || word < static_cast<std::size_t>(acp_procs());
      EXPECT_EQ(counts[word], std::uint64_t{is_there ? 3U : 0U});
    }
    acp_destroy_vector(vector);
  }
  acp_sync();
}

SPMD_CASE(map_order, "map: changes of a bucket that wait come in their order") {
  SPMD_NEEDS_RANKS(2);
  const Desk desk;
  const int rank = last_rank();
  acp_map_t map{};
  if (acp_rank() == 0) {
    map = acp_create_map(1, &rank, 1, rank);
    EXPECT_EQ(acpx_upsert_add8_map(map, desk.put(0, 7), 0, nullptr), 1);
  }
  map.ga = spmd::broadcast(map.ga, 0);
  std::vector<std::uint64_t> before;
  run_in_order(
      desk, [&] { return hold_bucket(desk, map); },
      [&](std::uint64_t) {
        std::uint64_t old = 0;
        EXPECT_EQ(acpx_upsert_add8_map(map, desk.put(0, 7), 1, &old), 0);
        before.push_back(old);
      });
  // The value before tells how many came before.
  const auto firsts = spmd::gather(before.front());
  const std::uint64_t barged = firsts[0] == 0 ? 1 : 0;
  for (std::size_t i = 1; i < firsts.size(); ++i) {
    EXPECT_EQ(firsts[i], i - 1 + barged);
  }
  if (acp_rank() == 0) {
    EXPECT(before.at(1) >= firsts.size() - 1);
    acp_destroy_map(map);
  }
  acp_sync();
}

// The unlocking of a key that is there already is not waited for. The rank that
// unlocks then computes, so its library has to find the waiter.
SPMD_CASE(map_late_unlocking,
          "map: a rank that computes has told the waiter behind it") {
  const Desk desk;
  const int rank = last_rank();
  acp_map_t map{};
  if (acp_rank() == 0) {
    map = acp_create_map(1, &rank, 1, rank);
    EXPECT_EQ(acpx_upsert_add8_map(map, desk.put(0, 7), 0, nullptr), 1);
  }
  map.ga = spmd::broadcast(map.ga, 0);
  const auto others = static_cast<std::uint64_t>(acp_procs() - 1);
  const std::size_t count = spmd::scaled_flights(3'000);
  desk.put(2, 0);
  acp_sync();
  for (std::size_t i = 1; i <= count; ++i) {
    const acp_element_t key = desk.put(0, 7);
    EXPECT_EQ(acp_insert_map(map, {key, key}), 0);
    if (acp_rank() == 0) {
      // Outside of the library until all others have had the lock.
      while (desk.value(2) < others * i) {
        std::this_thread::yield();
      }
    } else {
      EXPECT_DONE(acp_add8(desk.ga(3), desk.at(0, 2), 1, ACP_HANDLE_NULL));
    }
    if (i % 16 == 0) acp_sync();
  }
  acp_sync();
  if (acp_rank() == 0) acp_destroy_map(map);
  acp_sync();
}

// All ranks, with two threads each, change all structures. Each operation keeps
// a sum that the end tells.
SPMD_CASE(contended_sums, "all: contended operations of threads add up") {
  const Desk desk;
  const int rank = last_rank();
  acp_list_t list{};
  acp_deque_t deque{};
  acp_vector_t vector{};
  acp_map_t map{};
  if (acp_rank() == 0) {
    list = acp_create_list(rank);
    deque = acp_create_deque(0, rank);
    vector = acp_create_vector(0, rank);
    map = acp_create_map(1, &rank, 1, rank);
  }
  list.ga = spmd::broadcast(list.ga, 0);
  deque.ga = spmd::broadcast(deque.ga, 0);
  vector.ga = spmd::broadcast(vector.ga, 0);
  map.ga = spmd::broadcast(map.ga, 0);
  const std::size_t count = spmd::scaled_flights(30'000);
  acp_sync();
  const auto run = [&](std::size_t thread) {
    const std::size_t at = 8 * thread;
    std::uint64_t old = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const acp_element_t word = desk.put(at, 1 + thread);
      switch ((i + thread) % 4) {
        case 0:
          acp_push_back_list(list, word, acp_rank());
          if (i % 3 != 0) acp_pop_front_list(list);
          break;
        case 1:
          acp_push_back_deque(deque, word.ga, 8);
          if (i % 3 != 0) acpx_take_front_deque(deque, desk.ga(at + 1), 8);
          break;
        case 2:
          acp_push_back_vector(vector, word.ga, 8);
          if (i % 3 != 0) acp_pop_back_vector(vector, 8);
          break;
        default: acpx_upsert_add8_map(map, word, 1, &old); break;
      }
    }
  };
  std::thread second([&] { run(1); });
  run(0);
  second.join();
  EXPECT_EQ(int{acp_errno}, 0);
  acp_sync();
  std::array<std::uint64_t, 4> kept{};
  for (std::size_t thread = 0; thread < 2; ++thread) {
    for (std::size_t i = 0; i < count; ++i) {
      kept.at((i + thread) % 4) += (i + thread) % 4 == 3 || i % 3 == 0 ? 1 : 0;
    }
  }
  const auto procs = static_cast<std::uint64_t>(acp_procs());
  EXPECT_EQ(acp_size_list(list), kept[0] * procs);
  EXPECT_EQ(acp_size_deque(deque), kept[1] * procs * 8);
  EXPECT_EQ(acp_size_vector(vector), kept[2] * procs * 8);
  acp_sync();
  if (acp_rank() == 0) {
    std::uint64_t sum = 0;
    for (std::uint64_t key = 1; key <= 2; ++key) {
      std::uint64_t old = 0;
      EXPECT_EQ(acpx_upsert_add8_map(map, desk.put(0, key), 0, &old), 0);
      sum += old;
    }
    EXPECT_EQ(sum, kept[3] * procs);
    acp_destroy_list(list);
    acp_destroy_deque(deque);
    acp_destroy_vector(vector);
    acp_destroy_map(map);
  }
  acp_sync();
}
