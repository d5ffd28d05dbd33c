// Tests of acpx_publish, acpx_lookup and acpx_unpublish: values, answers,
// refusals, many ranks and threads at once, and the end by acp_reset.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "support/spmd.h"
#include "support/spmd_memory.h"
#include "support/stderr_capture.h"

namespace {

std::string name_of(const char* text, std::uint64_t number) {
  return text + std::string(" ") + std::to_string(number);
}

/// Each rank has names of its own.
std::string own_name(const char* text) {
  return name_of(text, static_cast<std::uint64_t>(acp_rank()));
}

int publish(const std::string& name, std::uint64_t value) {
  return acpx_publish(name.c_str(), &value, sizeof value);
}

/// The value, which has to be there before the patience ends.
std::uint64_t wait_for(const std::string& name) {
  std::uint64_t value = 0;
  EXPECT_EQ(
      acpx_lookup(name.c_str(), &value, sizeof value, nullptr, spmd::kPatience),
      0);
  return value;
}

/// The answer of a single look.
int look(const std::string& name) {
  std::uint64_t value = 0;
  return acpx_lookup(name.c_str(), &value, sizeof value, nullptr, 0);
}

bool has_line(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

SPMD_CASE(acpx_publish_to_all,
          "acpx_publish: every rank finds what every rank published") {
  const auto me = static_cast<std::uint64_t>(acp_rank());
  EXPECT_EQ(publish(own_name("to all"), 100 + me), 0);
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(acp_procs()); ++i) {
    EXPECT_EQ(wait_for(name_of("to all", i)), 100 + i);
  }
  acp_sync();
  EXPECT_EQ(acpx_unpublish(own_name("to all").c_str()), 0);
}

SPMD_CASE(acpx_publish_handle,
          "acpx_publish: the handle of a structure reaches all ranks") {
  constexpr char kName[] = "the vector";
  if (acp_rank() == acp_procs() - 1) {
    const acp_vector_t made = acp_create_vector(0, acp_rank());
    EXPECT_EQ(acpx_publish(kName, &made, sizeof made), 0);
  }
  const spmd::Block block(spmd::Memory::kLibrary, 64);
  acp_vector_t vector{};
  EXPECT_EQ(
      acpx_lookup(kName, &vector, sizeof vector, nullptr, spmd::kPatience), 0);
  acp_push_back_vector(vector, block.mine(), 8);
  acp_sync();
  EXPECT_EQ(acp_size_vector(vector), 8U * static_cast<unsigned>(acp_procs()));
  acp_sync();
  if (acp_rank() == 0) {
    EXPECT_EQ(acpx_unpublish(kName), 0);
    acp_destroy_vector(vector);
  }
}

SPMD_CASE(acpx_publish_sizes,
          "acpx_publish: values and names from the shortest to the longest") {
  std::vector<std::byte> value(ACPX_MAX_PUBLISHED);
  std::vector<std::byte> found(ACPX_MAX_PUBLISHED);
  for (const std::size_t size :
       {0, 1, 7, 8, 23, 24, 31, 32, 33, 256, 4095, ACPX_MAX_PUBLISHED}) {
    std::string name = own_name("size") + " " + std::to_string(size);
    if (size % 2 == 0) {
      name.resize(ACPX_MAX_NAME, '\xff');
    }
    spmd::fill_pattern(std::span(value).first(size), size);
    EXPECT_EQ(
        acpx_publish(name.c_str(), size == 0 ? nullptr : value.data(), size),
        0);
    std::fill(found.begin(), found.end(), std::byte{0x5a});
    std::size_t bytes = 1;
    EXPECT_EQ(acpx_lookup(name.c_str(), found.data(), found.size(), &bytes, 0),
              0);
    EXPECT_EQ(bytes, size);
    spmd::expect_pattern(std::span(found).first(size), size);
    EXPECT(std::all_of(found.begin() + static_cast<std::ptrdiff_t>(size),
                       found.end(),
                       [](std::byte b) { return b == std::byte{0x5a}; }));
    EXPECT_EQ(acpx_unpublish(name.c_str()), 0);
  }
  EXPECT_EQ(publish(own_name("x"), 1), 0);
  EXPECT_EQ(look(own_name("x") + " "), 1);
  EXPECT_EQ(acpx_unpublish(own_name("x").c_str()), 0);
}

SPMD_CASE(acpx_publish_keeps,
          "acpx_publish: a published value stays, until it is removed") {
  const std::string name = own_name("keeps");
  acp_errno = 0;
  EXPECT_EQ(publish(name, 1), 0);
  EXPECT_EQ(publish(name, 2), 1);
  EXPECT_EQ(wait_for(name), 1U);
  EXPECT_EQ(acpx_unpublish(name.c_str()), 0);
  EXPECT_EQ(acpx_unpublish(name.c_str()), 1);
  EXPECT_EQ(look(name), 1);
  EXPECT_EQ(publish(name, 3), 0);
  EXPECT_EQ(wait_for(name), 3U);
  EXPECT_EQ(acpx_unpublish(name.c_str()), 0);
  EXPECT_EQ(int{acp_errno}, 0);
}

// All ranks are at the same names at the same time, and the first of these
// also makes the owner's map.
SPMD_CASE(acpx_publish_elects,
          "acpx_publish: of all ranks that publish one name one succeeds") {
  for (std::uint64_t round = 0; round < 30; ++round) {
    const std::string name = name_of("elected", round);
    const auto me = static_cast<std::uint64_t>(acp_rank());
    const int answer = publish(name, me);
    EXPECT(answer == 0 || answer == 1);
    const std::uint64_t winner = wait_for(name);
    EXPECT_EQ(answer == 0, winner == me);
    const std::vector<std::uint64_t> winners = spmd::gather(winner);
    EXPECT(std::count(winners.begin(), winners.end(), winner) == acp_procs());
    if (winner == me) {
      EXPECT_EQ(acpx_unpublish(name.c_str()), 0);
    }
  }
}

SPMD_CASE(acpx_publish_many,
          "acpx_publish: hundreds of names of each rank at once") {
  const auto me = static_cast<std::uint64_t>(acp_rank());
  const std::uint64_t count = spmd::scaled_flights(2000) / 4;
  const auto text = [&](std::uint64_t rank, std::uint64_t i) {
    return name_of(name_of("many", rank).c_str(), i);
  };
  for (std::uint64_t i = 0; i < count; ++i) {
    EXPECT_EQ(publish(text(me, i), me << 32 | i), 0);
  }
  const auto peer = static_cast<std::uint64_t>(spmd::right_of(acp_rank()));
  for (std::uint64_t i = count; i-- > 0;) {
    EXPECT_EQ(wait_for(text(peer, i)), peer << 32 | i);
  }
  acp_sync();
  for (std::uint64_t i = 0; i < count; ++i) {
    EXPECT_EQ(acpx_unpublish(text(me, i).c_str()), 0);
  }
}

// The publisher waits until the waiter has looked in vain.
SPMD_CASE(acpx_lookup_waits,
          "acpx_lookup: waits for a name that is published later") {
  const spmd::Block block(spmd::Memory::kLibrary, 64);
  const std::string name = own_name("later");
  EXPECT_EQ(look(name), 1);
  const int left = (acp_rank() + acp_procs() - 1) % acp_procs();
  // My name is published by the rank to the right, once I have looked.
  EXPECT_DONE(acpx_put_signal(ACP_GA_NULL, ACP_GA_NULL, 0,
                              block.at(spmd::right_of(acp_rank())), 1,
                              ACP_HANDLE_NULL));
  std::thread publisher([&] {
    EXPECT_EQ(acpx_wait_word(block.mine(), 0, spmd::kPatience, nullptr), 0);
    EXPECT_EQ(publish(name_of("later", static_cast<std::uint64_t>(left)),
                      static_cast<std::uint64_t>(left)),
              0);
  });
  EXPECT_EQ(wait_for(name), static_cast<std::uint64_t>(acp_rank()));
  publisher.join();
  EXPECT_EQ(acpx_unpublish(name.c_str()), 0);
}

SPMD_CASE(acpx_lookup_times_out,
          "acpx_lookup: answers 1 at the time limit, and leaves all alone") {
  using std::chrono::steady_clock;
  std::uint64_t value = 77;
  std::size_t size = 78;
  acp_errno = 0;
  const auto start = steady_clock::now();
  EXPECT_EQ(acpx_lookup("never published", &value, 8, &size, 120), 1);
  const auto waited = steady_clock::now() - start;
  EXPECT(waited >= std::chrono::milliseconds(120));
  EXPECT(waited < std::chrono::seconds(30));
  EXPECT_EQ(value, 77U);
  EXPECT_EQ(size, 78U);
  EXPECT_EQ(int{acp_errno}, 0);
}

SPMD_CASE(acpx_lookup_other_size,
          "acpx_lookup: refuses a value of another size, and names both") {
  const std::string name = own_name("size of 24");
  const std::uint64_t words[3] = {1, 2, 3};
  EXPECT_EQ(acpx_publish(name.c_str(), words, sizeof words), 0);
  std::uint64_t found[4] = {9, 9, 9, 9};
  std::size_t size = 5;
  spmd::StderrCapture capture;
  EXPECT_FAILS(acpx_lookup(name.c_str(), found, 8, &size, 0), -1,
               ACPX_TOO_LARGE);
  EXPECT_FAILS(acpx_lookup(name.c_str(), found, 8, nullptr, 0), -1,
               ACPX_TOO_LARGE);
  EXPECT_FAILS(acpx_lookup(name.c_str(), found, 32, nullptr, 0), -1,
               ACPX_INVALID_ARGUMENT);
  const std::string lines = capture.stop();
  EXPECT(has_line(lines, "acpx_lookup(\"" + name +
                             "\"): the value has 24 bytes, and the buffer 8"));
  EXPECT(has_line(lines, "the value has 24 bytes instead of 32"));
  EXPECT(std::all_of(found, found + 4, [](auto word) { return word == 9; }));
  EXPECT_EQ(size, 5U);
  EXPECT_EQ(acpx_lookup(name.c_str(), found, 32, &size, 0), 0);
  EXPECT_EQ(size, 24U);
  EXPECT_EQ(acpx_unpublish(name.c_str()), 0);
}

SPMD_CASE(
    acpx_publish_refuses,
    "acpx_publish, acpx_lookup, acpx_unpublish: what is no name or value") {
  std::uint64_t value = 0;
  const std::string long_name(ACPX_MAX_NAME + 1, 'n');
  spmd::StderrCapture capture;
  EXPECT_FAILS(acpx_publish(nullptr, &value, 8), -1, ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acpx_publish("", &value, 8), -1, ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acpx_publish(long_name.c_str(), &value, 8), -1, ACPX_TOO_LARGE);
  EXPECT_FAILS(acpx_publish("x", nullptr, 8), -1, ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acpx_publish("x", &value, ACPX_MAX_PUBLISHED + 1), -1,
               ACPX_TOO_LARGE);
  EXPECT_FAILS(acpx_publish("x", &value, SIZE_MAX), -1, ACPX_TOO_LARGE);
  EXPECT_FAILS(acpx_lookup(nullptr, &value, 8, nullptr, 0), -1,
               ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acpx_lookup(long_name.c_str(), &value, 8, nullptr, -1), -1,
               ACPX_TOO_LARGE);
  EXPECT_FAILS(acpx_lookup("x", nullptr, 8, nullptr, -1), -1,
               ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acpx_unpublish(nullptr), -1, ACPX_INVALID_ARGUMENT);
  EXPECT_FAILS(acpx_unpublish(""), -1, ACPX_INVALID_ARGUMENT);
  EXPECT(has_line(capture.stop(),
                  "the value has 4097 bytes, and 4096 is the "
                  "most: publish the address of the bytes"));
  EXPECT_EQ(look("x"), 1);
}

namespace {

int g_step_answer = 0;
std::atomic<int> g_step_code{-1};

/// Runs once and calls what a progress step may not.
int lookup_in_step(void*) {
  if (g_step_code.load(std::memory_order_relaxed) != -1) {
    return 0;
  }
  std::uint64_t value = 0;
  acp_errno = 0;
  g_step_answer =
      acpx_lookup("in a step", &value, sizeof value, nullptr, spmd::kPatience);
  g_step_code.store(acp_errno, std::memory_order_release);
  return 1;
}

int has_answer(void*) {
  return g_step_code.load(std::memory_order_acquire) != -1 ? 1 : 0;
}

}  // namespace

SPMD_CASE(acpx_lookup_in_step,
          "acpx_lookup: refuses to wait in a progress step") {
  const spmd::StderrCapture quiet;
  g_step_code = -1;
  EXPECT_EQ(acpx_add_progress(lookup_in_step, nullptr), 0);
  EXPECT_EQ(acpx_wait_until(has_answer, nullptr, spmd::kPatience), 0);
  EXPECT_EQ(acpx_remove_progress(lookup_in_step, nullptr), 0);
  EXPECT_EQ(g_step_answer, -1);
  EXPECT_EQ(g_step_code.load(), ACPX_AGAIN);
}

// Twelve threads: more than a rank has first scratches, so a waiting lookup
// must not keep one. Half of them wait for names that the others publish.
SPMD_CASE(acpx_publish_threads,
          "acpx_publish, acpx_lookup: more threads than scratches at once") {
  constexpr std::uint64_t kPairs = 12;
  const auto me = static_cast<std::uint64_t>(acp_rank());
  const auto text = [&](std::uint64_t i) {
    return name_of(own_name("thread").c_str(), i);
  };
  std::atomic<std::uint64_t> waiting{0};
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < kPairs; ++i) {
    threads.emplace_back([&, i] {
      EXPECT_EQ(look(text(i)), 1);
      waiting.fetch_add(1, std::memory_order_relaxed);
      EXPECT_EQ(wait_for(text(i)), me * 1000 + i);
    });
  }
  while (waiting.load(std::memory_order_relaxed) < kPairs) {
    acp_inquire(ACP_HANDLE_ALL);
  }
  for (std::uint64_t i = 0; i < kPairs; ++i) {
    EXPECT_EQ(publish(text(i), me * 1000 + i), 0);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (std::uint64_t i = 0; i < kPairs; ++i) {
    EXPECT_EQ(acpx_unpublish(text(i).c_str()), 0);
  }
}

// Publishers and removers of one name at a time: a lookup finds a value that
// some rank has published, whole, or none.
SPMD_CASE(acpx_publish_replaced,
          "acpx_lookup: a value that comes and goes is seen whole") {
  const auto me = static_cast<std::uint64_t>(acp_rank());
  const std::size_t rounds = spmd::scaled_flights(1000) / 4;
  std::uint64_t words[40];
  for (std::size_t i = 0; i < rounds; ++i) {
    std::fill(std::begin(words), std::end(words), me << 32 | i);
    if (acpx_publish("replaced", words, sizeof words) == 0) {
      EXPECT_EQ(acpx_unpublish("replaced"), 0);
    }
    const int answer = acpx_lookup("replaced", words, sizeof words, nullptr, 0);
    EXPECT(answer == 0 || answer == 1);
    if (answer == 0) {
      EXPECT(std::all_of(std::begin(words), std::end(words),
                         [&](std::uint64_t word) { return word == words[0]; }));
    }
  }
}

SPMD_CASE(acpx_publish_reset, "acp_reset: ends all names") {
  const std::string name = own_name("before");
  EXPECT_EQ(publish(name, 1), 0);
  acp_sync();
  const int procs = acp_procs();
  EXPECT_EQ(acp_reset(procs - 1 - acp_rank()), 0);
  for (int i = 0; i < procs; ++i) {
    EXPECT_EQ(look(name_of("before", static_cast<std::uint64_t>(i))), 1);
  }
  acp_sync();
  EXPECT_EQ(publish(own_name("before"), 5), 0);
  EXPECT_EQ(wait_for(own_name("before")), 5U);
}
