// Tests of acp/deque.h, function by function: against a model, on all ranks at
// once, and with arguments that it refuses.
#include "acp/deque.h"

#include <algorithm>
#include <cstring>

#include "conformance/sequence_cases.h"
#include "conformance/sequence_kinds.h"

using sequence::Deque;

SPMD_CASE(acp_front_deque_back, "acp_front_deque, acp_back_deque: the ends") {
  const sequence::Scratch scratch;
  const acp_deque_t deque = acp_create_deque(0, 0);
  EXPECT_EQ(acp_front_deque(deque).index, -1);
  EXPECT_EQ(acp_back_deque(deque).index, -1);
  acp_push_front_deque(deque, scratch.ga(), 5);
  EXPECT_EQ(acp_back_deque(deque).index, 4);
  EXPECT_EQ(acp_advance_deque_it(acp_front_deque(deque), 1).index,
            acp_begin_deque(deque).index);
  EXPECT(acp_dereference_deque_it(acp_back_deque(deque)) != ACP_GA_NULL);
  {
    const spmd::StderrCapture quiet;
    EXPECT_FAILS(acp_dereference_deque_it(acp_front_deque(deque)), ACP_GA_NULL,
                 ACPX_BAD_ADDRESS);
  }
  acp_destroy_deque(deque);
}

SPMD_CASE(acp_create_deque_capacity, "acp_create_deque: empty, with room") {
  const acp_deque_t deque = acp_create_deque(1000, 0);
  EXPECT_EQ(acp_size_deque(deque), std::size_t{0});
  EXPECT(acp_capacity_deque(deque) >= 1000);
  acp_destroy_deque(deque);
}

// A range may lie in two pieces, so their sizes are added. Then come a range
// beyond the end and a range backwards.
SPMD_CASE(acpx_dereference_range_deque_pieces,
          "acpx_dereference_range_deque: the bytes of a range") {
  const sequence::Scratch scratch;
  const acp_deque_t deque = acp_create_deque(0, acp_procs() - 1);
  spmd::fill_pattern({scratch.data(), 100}, 9);
  acp_push_back_deque(deque, scratch.ga(), 100);
  const auto begin = acp_begin_deque(deque);
  const acp_pair_t pieces = acpx_dereference_range_deque(
      acp_advance_deque_it(begin, 10), acp_advance_deque_it(begin, 40));
  EXPECT_EQ(pieces.first.size + pieces.second.size, std::size_t{30});
  scratch.get(pieces.first.ga, 30);
  for (std::size_t i = 0; i < 30; ++i) {
    EXPECT(scratch.data()[i] == spmd::pattern_byte(9, 10 + i));
  }
  const spmd::StderrCapture quiet;
  EXPECT_FAILS(
      acpx_dereference_range_deque(begin, acp_advance_deque_it(begin, 101))
          .first.size,
      std::size_t{0}, ACPX_BAD_ADDRESS);
  EXPECT_FAILS(
      acpx_dereference_range_deque(acp_end_deque(deque), begin).first.size,
      std::size_t{0}, ACPX_INVALID_ARGUMENT);
  acp_destroy_deque(deque);
}

// The form of ACP 2.1.0. It stops at the end, wherever the bytes lie, and its
// two pieces are read as a program has to that knows no implementation.
SPMD_CASE(acp_dereference_deque_it_size,
          "acp_dereference_deque_it with a size: the bytes from there on") {
  const sequence::Scratch scratch;
  const acp_deque_t deque = acp_create_deque(128, spmd::right_of(acp_rank()));
  spmd::fill_pattern({scratch.data(), 100}, 9);
  for (int turn = 0; turn < 3; ++turn) {  // the bytes move through the memory
    acp_push_back_deque(deque, scratch.ga(), 100);
    for (const int from : {0, 1, 63, 99}) {
      for (const std::size_t size : {1, 8, 37, 100, 1000}) {
        const auto it = acp_advance_deque_it(acp_begin_deque(deque), from);
        const acp_pair_t pieces = acp_dereference_deque_it(it, size);
        const std::size_t bytes = std::min<std::size_t>(size, 100 - from);
        EXPECT_EQ(pieces.first.size + pieces.second.size, bytes);
        EXPECT(pieces.second.size != 0 || pieces.second.ga == ACP_GA_NULL);
        EXPECT_EQ(pieces.first.ga, acp_dereference_deque_it(it));
        const sequence::Scratch copy;
        copy.get(pieces.first.ga, pieces.first.size);
        EXPECT(std::memcmp(copy.data(), scratch.data() + from,
                           pieces.first.size) == 0);
      }
    }
    acp_pop_front_deque(deque, 100);
  }
  acp_destroy_deque(deque);
}

SPMD_CASE(acp_dereference_deque_it_nothing,
          "acp_dereference_deque_it with a size: no bytes, and outside") {
  const sequence::Scratch scratch;
  const acp_deque_t deque = acp_create_deque(0, acp_procs() - 1);
  acp_push_back_deque(deque, scratch.ga(), 10);
  const acp_deque_it_t begin = acp_begin_deque(deque);
  acp_errno = 0;
  EXPECT_EQ(acp_dereference_deque_it(begin, 0).first.ga, ACP_GA_NULL);
  EXPECT_EQ(acp_errno, 0);
  const spmd::StderrCapture quiet;
  for (const acp_deque_it_t it : {acp_front_deque(deque), acp_end_deque(deque),
                                  acp_advance_deque_it(begin, 1000)}) {
    EXPECT_FAILS(acp_dereference_deque_it(it, 8).first.size, std::size_t{0},
                 ACPX_BAD_ADDRESS);
    EXPECT_EQ(acp_dereference_deque_it(it, 8).first.ga, ACP_GA_NULL);
  }
  acp_destroy_deque(deque);
  EXPECT_FAILS(acp_dereference_deque_it(begin, 8).first.size, std::size_t{0},
               ACPX_INVALID_ARGUMENT);
}

SPMD_CASE(acpx_take_front_deque_once,
          "acpx_take_front_deque, acpx_take_back_deque: each element once") {
  const sequence::Scratch scratch;
  const acp_ga_t sums = scratch.of(0, 64);
  acp_deque_t deque{};
  if (acp_rank() == 0) deque = acp_create_deque(0, acp_procs() - 1);
  deque = sequence::share<Deque>(deque, 0);
  std::memset(scratch.data(), 0, 1024);
  acp_sync();
  // Each rank pushes at both ends and takes from both. The rest is drained at
  // the end.
  const std::size_t count = spmd::scaled_flights(50'000);
  std::uint64_t taken = 0;
  std::uint64_t takes = 0;
  const auto take = [&](bool is_front) {
    const int result = is_front ? acpx_take_front_deque(deque, scratch.ga(), 8)
                                : acpx_take_back_deque(deque, scratch.ga(), 8);
    EXPECT(result >= 0);
    if (result == 0) return false;
    std::uint64_t word = 0;
    std::memcpy(&word, scratch.data(), 8);
    taken += word;
    ++takes;
    return true;
  };
  std::uint64_t pushed = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t word = sequence::element(i);
    pushed += word;
    std::memcpy(scratch.data(), &word, 8);
    if (i % 2 == 0) {
      acp_push_front_deque(deque, scratch.ga(), 8);
    } else {
      acp_push_back_deque(deque, scratch.ga(), 8);
    }
    if (i % 3 != 0) take(i % 5 < 2);
  }
  acp_sync();
  while (take(true)) {
  }
  EXPECT_DONE(acp_add8(scratch.ga(32), sums, taken - pushed, ACP_HANDLE_NULL));
  EXPECT_DONE(acp_add8(scratch.ga(32), sums + 8, takes, ACP_HANDLE_NULL));
  acp_sync();
  if (acp_rank() == 0) {
    std::uint64_t both[2];
    std::memcpy(both, scratch.data() + 64, 16);
    EXPECT_EQ(both[0], std::uint64_t{0});
    EXPECT_EQ(both[1], count * static_cast<std::size_t>(acp_procs()));
    EXPECT_EQ(acp_size_deque(deque), std::size_t{0});
    acp_destroy_deque(deque);
  }
  acp_sync();
}

// The queue holds 40 elements at most, and thousands pass through. If it did
// not turn round, it would outgrow its capacity.
SPMD_CASE(acp_deque_as_a_queue,
          "deque: a queue that moves through its memory keeps its size") {
  const sequence::Scratch scratch;
  const acp_deque_t deque = acp_create_deque(1024, spmd::right_of(acp_rank()));
  const std::size_t count = spmd::scaled_flights(20'000);
  std::uint64_t next = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::memcpy(scratch.data(), &i, 8);
    acp_push_back_deque(deque, scratch.ga(), 8);
    if (i % 40 == 39) {
      for (int j = 0; j < 40; ++j, ++next) {
        EXPECT_EQ(acpx_take_front_deque(deque, scratch.ga(), 8), 1);
        std::uint64_t word = 0;
        std::memcpy(&word, scratch.data(), 8);
        EXPECT_EQ(word, next);
      }
    }
  }
  EXPECT(acp_capacity_deque(deque) <= 1024);
  acp_destroy_deque(deque);
}

SPMD_CASE(acp_deque_ends_stay,
          "deque: pushes at one end seldom move what is there") {
  const sequence::Scratch scratch;
  const int right = spmd::right_of(acp_rank());
  const std::size_t count = spmd::scaled_flights(40'000);
  for (const auto push : {acp_push_back_deque, acp_push_front_deque}) {
    const acp_deque_t deque = acp_create_deque(0, right);
    const bool is_back = push == acp_push_back_deque;
    acp_ga_t before = ACP_GA_NULL;
    std::size_t moves = 0;
    for (std::size_t i = 0; i < count; ++i) {
      push(deque, scratch.ga(), 8);
      // The address of the bytes that were pushed first.
      const acp_ga_t first =
          acp_at_deque(deque, is_back ? 0 : static_cast<int>(i * 8));
      moves += first != before ? 1 : 0;
      before = first;
    }
    EXPECT(moves <= 40);  // a few for each doubling
    acp_destroy_deque(deque);
  }
}

SPMD_CASE(acp_deque_model, "deque: random operations, as std::vector") {
  sequence::run_model<Deque>();
}

SPMD_CASE(acp_push_back_deque_contention,
          "acp_push_back_deque: all ranks at once, nothing lost") {
  sequence::run_push_contention<Deque>();
}

SPMD_CASE(acp_deque_changes_among_pushes,
          "deque: whole changes while others push") {
  sequence::run_changes_among_pushes<Deque>();
}

SPMD_CASE(acp_swap_deque_contention,
          "acp_swap_deque: swap(a, b) beside swap(b, a)") {
  sequence::run_swap_contention<Deque>();
}

SPMD_CASE(acp_deque_refuses_handles, "deque: no, destroyed and other handles") {
  sequence::run_refuses_handles<Deque>();
}

SPMD_CASE(acp_deque_refuses_values, "deque: offsets, ranges, sizes, sources") {
  sequence::run_refuses_values<Deque>();
}

SPMD_CASE(acp_deque_no_memory, "deque: no memory, and nothing has changed") {
  sequence::run_no_memory<Deque>();
}

SPMD_CASE(acp_destroy_deque_leaks_nothing, "acp_destroy_deque: no leak") {
  sequence::run_leak<Deque>();
}
