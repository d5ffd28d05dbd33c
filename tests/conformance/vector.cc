// Tests of acp/vector.h, function by function: against a model, on all ranks at
// once, and with arguments that it refuses.
#include "acp/vector.h"

#include <thread>

#include "conformance/sequence_cases.h"
#include "conformance/sequence_kinds.h"

using sequence::Vector;

SPMD_CASE(acp_create_vector_zeros, "acp_create_vector: its bytes are 0") {
  const sequence::Scratch scratch;
  for (const std::size_t size : {1, 64, 1000, 8192, 50'000}) {
    // The vector's memory was used before.
    const acp_ga_t used = acp_malloc(size, 0);
    std::memset(scratch.data(), 0xff, size);
    EXPECT_DONE(acp_copy(used, scratch.ga(), size, ACP_HANDLE_NULL));
    acp_free(used);
    const acp_vector_t vector = acp_create_vector(size, 0);
    sequence::expect_contents<Vector>(scratch, vector,
                                      sequence::Bytes(size, std::byte{0}));
    acp_destroy_vector(vector);
  }
}

SPMD_CASE(acp_push_back_vector_sizes,
          "acp_push_back_vector: pieces of all sizes stay in one piece") {
  const sequence::Scratch scratch;
  acp_vector_t vector{};
  if (acp_rank() == 0) vector = acp_create_vector(0, 0);
  vector = sequence::share<Vector>(vector, 0);
  auto random = spmd::random_of_rank();
  std::uint64_t sum = 0;
  const std::size_t count = spmd::scaled_flights(2'000);
  for (std::size_t i = 0; i < count; ++i) {
    // {size, rank, size - 2 times the rank}
    const std::size_t size = 3 + random() % 60;
    std::memset(scratch.data(), acp_rank(), size);
    scratch.data()[0] = static_cast<std::byte>(size);
    acp_push_back_vector(vector, scratch.ga(), size);
    sum += size;
  }
  const auto sums = spmd::gather(sum);
  if (acp_rank() == 0) {
    std::uint64_t all = 0;
    for (const std::uint64_t one : sums)
      all += one;
    EXPECT_EQ(acp_size_vector(vector), all);
    const auto* bytes = static_cast<const std::uint8_t*>(
        acp_query_address(acp_at_vector(vector, 0)));
    std::size_t at = 0;
    std::size_t pieces = 0;
    for (; at < all; at += bytes[at], ++pieces) {
      EXPECT(bytes[at] >= 3);
      for (std::size_t i = 1; i < bytes[at]; ++i) {
        EXPECT_EQ(int{bytes[at + i]}, int{bytes[at + 1]});
      }
    }
    EXPECT_EQ(at, all);
    EXPECT_EQ(pieces, count * static_cast<std::size_t>(acp_procs()));
    acp_destroy_vector(vector);
  }
  acp_sync();
}

// The order of the pushes of several threads is open. So rank 0 sorts the
// words, and looks whether each number of each rank is there once.
SPMD_CASE(acp_vector_threads, "vector: several threads of each rank push") {
  const sequence::Scratch scratch;
  acp_vector_t vector{};
  if (acp_rank() == 0) vector = acp_create_vector(0, 0);
  vector = sequence::share<Vector>(vector, 0);
  const std::size_t count = spmd::scaled_flights(5'000);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t word = sequence::element(3 * i + t);
        std::memcpy(scratch.data() + 64 * t, &word, 8);
        acp_push_back_vector(vector, scratch.ga(64 * t), 8);
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  acp_sync();
  if (acp_rank() == 0) {
    auto words = sequence::words_of<Vector>(scratch, vector);
    std::sort(words.begin(), words.end());
    sequence::expect_all(words, 3 * count);
    acp_destroy_vector(vector);
  }
  acp_sync();
}

SPMD_CASE(acp_vector_model, "vector: random operations, as std::vector") {
  sequence::run_model<Vector>();
}

SPMD_CASE(acp_push_back_vector_contention,
          "acp_push_back_vector: all ranks at once, nothing lost") {
  sequence::run_push_contention<Vector>();
}

SPMD_CASE(acp_vector_changes_among_pushes,
          "vector: whole changes while others push") {
  sequence::run_changes_among_pushes<Vector>();
}

SPMD_CASE(acp_swap_vector_contention,
          "acp_swap_vector: swap(a, b) beside swap(b, a)") {
  sequence::run_swap_contention<Vector>();
}

SPMD_CASE(acp_vector_refuses_handles,
          "vector: no, destroyed and other handles") {
  sequence::run_refuses_handles<Vector>();
}

SPMD_CASE(acp_vector_refuses_values,
          "vector: offsets, ranges, sizes, sources") {
  sequence::run_refuses_values<Vector>();
}

SPMD_CASE(acp_vector_no_memory, "vector: no memory, and nothing has changed") {
  sequence::run_no_memory<Vector>();
}

SPMD_CASE(acp_destroy_vector_leaks_nothing, "acp_destroy_vector: no leak") {
  sequence::run_leak<Vector>();
}
