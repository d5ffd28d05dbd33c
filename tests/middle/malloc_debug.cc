// Tests of ACP_MALLOC_DEBUG=on: each kind of mistake is reported in one line,
// which tells where the block was allocated.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "support/spmd.h"
#include "support/spmd_memory.h"
#include "support/stderr_capture.h"

namespace {

/// Returns the text that acp_free(ga) writes. The call fails exactly when it
/// writes.
std::string report_of(acp_ga_t ga) {
  acp_errno = 0;
  spmd::StderrCapture capture;
  acp_free(ga);
  std::string text = capture.stop();
  EXPECT_EQ(acp_errno, text.empty() ? 0 : int{ACPX_BAD_ADDRESS});
  acp_errno = 0;
  return text;
}

void expect_report(acp_ga_t ga, const std::vector<std::string>& parts) {
  const std::string text = report_of(ga);
  for (const std::string& part : parts) {
    if (text.find(part) == std::string::npos) {
      spmd::fail("no '" + part + "' in '" + text + "'");
    }
  }
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

void put_byte(acp_ga_t to, unsigned char value) {
  const spmd::Block block(spmd::Memory::kLibrary, 64);
  std::memset(block.data(), value, 1);
  EXPECT_DONE(acp_copy(to, block.mine(), 1, ACP_HANDLE_NULL));
}

std::string me() {
  return "allocated by rank " + std::to_string(acp_rank()) + " at malloc_debug";
}

}  // namespace

SPMD_CASE(debug_good, "debug: what is right is silent and usable") {
  for (int rank = 0; rank < acp_procs(); ++rank) {
    for (const std::size_t size : {0, 1, 7, 8, 63, 64, 1000, 30'000, 100'000}) {
      const acp_ga_t ga = acp_malloc(size, rank);
      EXPECT(ga != ACP_GA_NULL);
      EXPECT_EQ(ga % (size != 0 && size % 64 == 0 ? 64 : 16), 0U);
      if (size != 0) {
        put_byte(ga, 1);
        put_byte(ga + size - 1, 2);
      }
      EXPECT_EQ(report_of(ga), std::string());
    }
  }
}

// The block is freed in wrong ways first, while it lives. Then it is freed
// rightly, and once more. A small block and a large one go through all of that.
SPMD_CASE(debug_wrong_frees, "debug: double, foreign, interior, never") {
  const int right = spmd::right_of(acp_rank());
  for (const std::size_t size : {100, 100'000}) {
    const std::string bytes = std::to_string(size) + " bytes";
    const acp_ga_t ga = acp_malloc(size, right);
    expect_report(ga + 48, {"48 bytes into a block", bytes, me()});
    expect_report(ga + 1, {"1 bytes into a block", me()});
    if (size > 10'000) {
      expect_report(ga + 10'000, {"10000 bytes into a block", me()});
    }
    EXPECT_EQ(report_of(ga), std::string());
    expect_report(ga, {"freed already by rank " + std::to_string(acp_rank()),
                       bytes, me()});
  }
  expect_report(acp_query_starter_ga(right), {"in no heap"});
  expect_report(~std::uint64_t{0}, {"in no heap"});
  const acp_ga_t far = acp_malloc(0, right) + (4 << 20);
  expect_report(far, {"no block begins there"});
  EXPECT_EQ(report_of(far - (4 << 20)), std::string());
}

SPMD_CASE(debug_overruns, "debug: a byte before, a byte behind") {
  const int right = spmd::right_of(acp_rank());
  for (const std::size_t size : {8, 13, 64, 100, 50'000}) {
    acp_ga_t ga = acp_malloc(size, right);
    put_byte(ga + size, 0);
    expect_report(ga, {"written behind the end of the block", me()});
    ga = acp_malloc(size, right);
    put_byte(ga - 1, 0);
    expect_report(ga, {"written before the start of the block", me()});
  }
}

SPMD_CASE(debug_poison, "debug: freed bytes are poisoned") {
  const acp_ga_t ga = acp_malloc(100, acp_rank());
  const auto* bytes = static_cast<unsigned char*>(acp_query_address(ga));
  put_byte(ga, 7);
  EXPECT_EQ(int{bytes[0]}, 7);
  EXPECT_EQ(report_of(ga), std::string());
  EXPECT_EQ(int{bytes[0]}, 0xdd);
  EXPECT_EQ(int{bytes[95]}, 0xdd);
}

// The source is in the bytes of before the first growth. The second growth
// frees them.
SPMD_CASE(debug_sources_in_old_bodies,
          "debug: a growth reads its source before it frees the old bytes") {
  constexpr std::size_t kBytes = 64;
  const int me = acp_rank();
  const acp_ga_t memory = acp_query_starter_ga(me);
  std::memset(acp_query_address(memory), 7, kBytes);
  const auto is_right = [](acp_ga_t ga) {
    const auto* bytes = static_cast<unsigned char*>(acp_query_address(ga));
    return std::all_of(bytes, bytes + kBytes,
                       [](unsigned char byte) { return byte == 7; });
  };
  const auto push = [&](acp_vector_t to, acp_ga_t source) {
    acp_push_back_vector(to, source, kBytes);
  };
  const auto insert = [&](acp_vector_t to, acp_ga_t source) {
    acp_insert_vector(acp_end_vector(to), source, kBytes);
  };
  const std::function<void(acp_vector_t, acp_ga_t)> additions[] = {push,
                                                                   insert};
  for (const auto& add : additions) {
    const acp_vector_t vector = acp_create_vector(0, me);
    push(vector, memory);
    const acp_ga_t old = acp_at_vector(vector, 0);
    push(vector, memory);
    EXPECT_EQ(acp_capacity_vector(vector), 2 * kBytes);
    add(vector, old);
    EXPECT(is_right(acp_at_vector(vector, 2 * kBytes)));
    acp_destroy_vector(vector);
  }
  for (const auto& add : {acp_push_back_deque, acp_push_front_deque}) {
    const acp_deque_t deque = acp_create_deque(0, me);
    acp_push_back_deque(deque, memory, kBytes);
    const acp_ga_t old = acp_at_deque(deque, 0);
    acp_push_back_deque(deque, memory, kBytes);
    EXPECT_EQ(acp_capacity_deque(deque), 2 * kBytes);
    add(deque, old, kBytes);
    for (int i = 0; i < 3; ++i) {
      EXPECT(is_right(acp_at_deque(deque, i * static_cast<int>(kBytes))));
    }
    acp_destroy_deque(deque);
  }
  EXPECT_EQ(int{acp_errno}, 0);
}

namespace {

/// Addresses that a progress step frees.
struct FreeingStep {
  std::vector<acp_ga_t> addresses;
  std::atomic<bool> is_done{false};  // pairs with the thread that waits

  static int run(void* arg) {
    auto& step = *static_cast<FreeingStep*>(arg);
    if (step.is_done.load()) return 0;
    for (const acp_ga_t ga : step.addresses)
      acp_free(ga);
    step.is_done.store(true);
    return 1;
  }

  static int has_run(void* arg) {
    return static_cast<FreeingStep*>(arg)->is_done.load() ? 1 : 0;
  }
};

}  // namespace

SPMD_CASE(debug_free_in_a_step,
          "debug: a progress step frees on every heap, and its wrong frees are "
          "reported") {
  for (const int rank : {acp_rank(), spmd::right_of(acp_rank())}) {
    const acp_ga_t good = acp_malloc(100, rank);
    const acp_ga_t other = acp_malloc(100, rank);
    FreeingStep step;
    step.addresses = {good, other + 48};
    spmd::StderrCapture capture;
    EXPECT_EQ(acpx_add_progress(FreeingStep::run, &step), 0);
    EXPECT_EQ(acpx_wait_until(FreeingStep::has_run, &step, spmd::kPatience), 0);
    EXPECT_EQ(acpx_remove_progress(FreeingStep::run, &step), 0);
    acp_free(other);
    const std::string text = capture.stop();
    acp_errno = 0;
    EXPECT(text.find("48 bytes into a block") != std::string::npos);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
    expect_report(good, {"freed already by rank", me()});
  }
}

SPMD_CASE(debug_race, "debug: of many frees of one block one is right") {
  SPMD_NEEDS_RANKS(2);
  for (std::size_t i = 0; i < spmd::scaled(200); ++i) {
    const acp_ga_t ga = spmd::broadcast(
        acp_rank() == 0 ? acp_malloc(40, acp_procs() - 1) : 0, 0);
    const bool is_good = report_of(ga).empty();
    std::uint64_t good = 0;
    for (const std::uint64_t one : spmd::gather(is_good ? 1 : 0)) {
      good += one;
    }
    EXPECT_EQ(good, 1U);
  }
}

SPMD_CASE(debug_leaks, "debug: leaks are listed at the end of a life") {
  const acp_ga_t leak = acp_malloc(7777, spmd::right_of(acp_rank()));
  const acp_ga_t small = acp_malloc(77, acp_rank());
  EXPECT(leak != ACP_GA_NULL && small != ACP_GA_NULL);
  const int left = (acp_rank() + acp_procs() - 1) % acp_procs();
  spmd::StderrCapture capture;
  EXPECT_EQ(acp_reset(acp_rank()), 0);
  const std::string text = capture.stop();
  for (const std::string& part :
       {"7777 bytes, allocated by rank " + std::to_string(left) +
            " at malloc_debug",
        "77 bytes, " + me(),
        std::string("never freed: 2 blocks of 7854 bytes")}) {
    if (text.find(part) == std::string::npos) {
      spmd::fail("no '" + part + "' in '" + text + "'");
    }
  }
}

// Each structure is made and not destroyed, so acp_reset reports its blocks.
// The line has to name the call of the program, not the library's own.
SPMD_CASE(debug_leaks_of_structures,
          "debug: leaks of structures name the program's call") {
  const int me_only[1] = {acp_rank()};
  const acp_ga_t memory = acp_query_starter_ga(acp_rank());
  EXPECT(acp_create_map(1, me_only, 10, acp_rank()).ga != ACP_GA_NULL);
  EXPECT(acp_create_set(1, me_only, 10, acp_rank()).ga != ACP_GA_NULL);
  EXPECT(acp_create_vector(100, acp_rank()).ga != ACP_GA_NULL);
  EXPECT(acp_create_deque(100, acp_rank()).ga != ACP_GA_NULL);
  const acp_list_t list = acp_create_list(acp_rank());
  acp_push_back_list(list, {memory, 200}, acp_rank());
  spmd::StderrCapture capture;
  EXPECT_EQ(acp_reset(acp_rank()), 0);
  const std::string text = capture.stop();
  for (const std::string_view function :
       {"acp_create_map", "acp_create_set", "acp_create_vector",
        "acp_create_deque", "acp_push_back_list"}) {
    const std::string part = " (" + std::string(function) + ")";
    if (text.find(part) == std::string::npos) {
      spmd::fail("no '" + part + "' in '" + text + "'");
    }
  }
  EXPECT(text.find(" at malloc_debug+") != std::string::npos);
  EXPECT(text.find(" at libacp") == std::string::npos);
}
