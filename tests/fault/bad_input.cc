// Cases of calls with bad arguments. Such a call sets acp_errno, and the rank
// that finds the error writes one line to stderr with its rank, its host and
// the values. The job goes on.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "support/spmd.h"
#include "support/spmd_memory.h"
#include "support/stderr_capture.h"

using spmd::Block;
using spmd::Memory;
using spmd::StderrCapture;

namespace {

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

std::string hex(acp_ga_t address) {
  std::array<char, 20> text{};
  std::snprintf(text.data(), text.size(), "%#llx",
                static_cast<unsigned long long>(address));
  return text.data();
}

/// Rank 0 makes the call. Checks that acp_errno is set there, and that all
/// ranks together write one line, which contains `value`. Collective.
template <typename Call>
void expect_one_line(const char* what, const std::string& value, Call call) {
  EXPECT_EQ(acp_sync(), 0);
  StderrCapture capture;
  if (acp_rank() == 0) {
    acp_errno = 0;
    call();
  }
  const int code = acp_errno;
  acp_errno = 0;
  EXPECT_EQ(acp_sync(), 0);
  const std::string text = capture.stop();
  const auto lines = std::count(text.begin(), text.end(), '\n');
  std::uint64_t total = 0;
  for (const std::uint64_t of_rank :
       spmd::gather(static_cast<std::uint64_t>(lines))) {
    total += of_rank;
  }
  const auto complain = [&](const char* problem) {
    spmd::fail(std::string(what) + ": " + problem + ", text here: " + text);
  };
  if (acp_rank() == 0 && code == 0) complain("acp_errno was not set");
  if (total != 1) complain("not one line over all ranks");
  if (lines == 0) return;
  if (text.find("rank " + std::to_string(acp_rank())) == std::string::npos) {
    complain("the line does not name the rank");
  }
  if (text.find(host_name()) == std::string::npos) {
    complain("the line does not name the host");
  }
  if (text.find(value) == std::string::npos) {
    complain(("the line does not have the value " + value).c_str());
  }
}

/// Passes a global address where a pointer belongs, as a mistaken program does.
void* as_pointer(acp_ga_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

void settle(acp_handle_t handle) {
  if (handle != ACP_HANDLE_NULL) {
    acpx_complete_timeout(handle, spmd::kPatience);
  }
}

}  // namespace

// Each call is wrong in one argument, and its line has to show the value of
// that argument or name it.
SPMD_CASE(lines_of_registration, "bad registrations: one line each") {
  static std::array<std::byte, 64> bytes;
  expect_one_line("NULL", "the address is NULL",
                  [] { acp_register_memory(nullptr, 64, 0); });
  expect_one_line("size 0", "the size is 0",
                  [] { acp_register_memory(bytes.data(), 0, 0); });
  expect_one_line("negative color", "-7",
                  [] { acp_register_memory(bytes.data(), 64, -7); });
  expect_one_line("color too large", "12345",
                  [] { acp_register_memory(bytes.data(), 64, 12'345); });
  expect_one_line("no key", "", [] { acp_unregister_memory(ACP_ATKEY_NULL); });
  expect_one_line("no rank", "4711", [] { acp_query_starter_ga(4711); });
  const acp_atkey_t key = acp_register_memory(bytes.data(), 64, 0);
  const auto first = reinterpret_cast<acp_ga_t>(bytes.data());
  expect_one_line(
      "outside",
      "; the region has 64 bytes from " + hex(first) + " to " + hex(first + 63),
      [&] { acp_query_ga(key, bytes.data() + bytes.size()); });
  EXPECT_EQ(acp_unregister_memory(key), 0);
}

// Each function gets a pointer, a key or an address where another of the three
// belongs. The line has to say where the right one comes from.
SPMD_CASE(lines_of_mixed_up_values,
          "pointers, keys and addresses in the place of each other: a hint") {
  static std::array<std::byte, 64> bytes;
  const Block own(Memory::kLibrary, 64);
  const auto pointer = reinterpret_cast<acp_ga_t>(bytes.data());
  const std::string of_address =
      "and a pointer's global address is acp_query_ga's";
  const std::string of_key =
      "; an atkey comes from acp_register_memory on this rank";
  expect_one_line("copy from a pointer", of_address, [&] {
    settle(acp_copy(own.mine(), pointer, 8, ACP_HANDLE_NULL));
  });
  expect_one_line("copy to a pointer", of_address, [&] {
    settle(acp_copy(pointer, own.mine(), 8, ACP_HANDLE_NULL));
  });
  expect_one_line("atomic on a pointer", of_address, [&] {
    settle(acp_add8(own.mine(), pointer, 1, ACP_HANDLE_NULL));
  });
  expect_one_line("signal to a pointer", of_address, [&] {
    settle(acpx_put_signal(ACP_GA_NULL, ACP_GA_NULL, 0, pointer, 1,
                           ACP_HANDLE_NULL));
  });
  expect_one_line("wait at a pointer", of_address,
                  [&] { acpx_wait_word(pointer, 0, 0, nullptr); });
  expect_one_line("register an address",
                  "; it is a global address, and a region",
                  [&] { acp_register_memory(as_pointer(own.mine()), 64, 0); });
  expect_one_line("query by a pointer", of_key,
                  [&] { acp_query_ga(pointer, bytes.data()); });
  expect_one_line("query by an address", of_key,
                  [&] { acp_query_ga(own.mine(8), bytes.data()); });
  expect_one_line("unregister a pointer", of_key,
                  [&] { acp_unregister_memory(pointer); });
}

SPMD_CASE(lines_of_copies, "bad copies: one line each, wherever it is found") {
  const Block block(Memory::kRegistered, 4096);
  const Block own(Memory::kLibrary, 4096);
  const int peer = acp_procs() - 1;
  expect_one_line("ACP_GA_NULL", "not received yet", [&] {
    settle(acp_copy(ACP_GA_NULL, own.mine(), 8, ACP_HANDLE_NULL));
  });
  expect_one_line("no rank", "", [&] {
    settle(acp_copy(own.mine(), acp_ga_t{1}, 8, ACP_HANDLE_NULL));
  });
  expect_one_line("outside", "123", [&] {
    settle(acp_copy(block.at(peer, 4000), own.mine(), 123, ACP_HANDLE_NULL));
  });
  expect_one_line("outside, get", "321", [&] {
    settle(acp_copy(own.mine(), block.at(peer, 4000), 321, ACP_HANDLE_NULL));
  });
}

SPMD_CASE(lines_of_structures,
          "bad addresses in structures: the line says why") {
  std::uint64_t starter_bytes = 0;
  EXPECT_EQ(acpx_setting("ACP_STARTER_MEMORY", &starter_bytes), 0);
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  const acp_vector_t vector = acp_create_vector(64, acp_rank());
  expect_one_line("ACP_GA_NULL", "not received yet",
                  [&] { acp_push_back_vector(vector, ACP_GA_NULL, 8); });
  expect_one_line("the end of starter memory", "starter memory ends at", [&] {
    acp_push_back_vector(vector, mine + starter_bytes, 8);
  });
  expect_one_line("a pointer", "acp_query_ga's", [&] {
    acp_push_back_vector(vector, reinterpret_cast<acp_ga_t>(&starter_bytes), 8);
  });
  expect_one_line(
      "offset",
      "the offset is 99; it has to be 0 or more, and below the size, ",
      [&] { acp_at_vector(vector, 99); });
  acp_destroy_vector(vector);
  const int peer = acp_procs() - 1;
  if (peer > 0) {  // memory of another rank fails in the copy
    const std::array<int, 1> all{0};
    const acp_ga_t theirs = acp_query_starter_ga(peer) + starter_bytes;
    const acp_vector_t bytes = acp_create_vector(64, 0);
    const acp_deque_t deque = acp_create_deque(64, 0);
    const acp_list_t list = acp_create_list(0);
    const acp_set_t set = acp_create_set(1, all.data(), 8, 0);
    const acp_map_t map = acp_create_map(1, all.data(), 8, 0);
    expect_one_line("vector", "error: acp_push_back_vector: copy of 8 bytes",
                    [&] { acp_push_back_vector(bytes, theirs, 8); });
    expect_one_line("deque", "error: acp_push_back_deque: copy of 8 bytes",
                    [&] { acp_push_back_deque(deque, theirs, 8); });
    expect_one_line("list", "error: acp_push_back_list: copy of 8 bytes", [&] {
      acp_push_back_list(list, {theirs, 8}, 0);
    });
    expect_one_line("set", "error: acp_insert_set: copy of 8 bytes", [&] {
      acp_insert_set(set, {theirs, 8});
    });
    expect_one_line("map", "error: acp_insert_map: copy of 8 bytes", [&] {
      acp_insert_map(map, {{mine, 8}, {theirs, 8}});
    });
    EXPECT_EQ(acp_sync(), 0);
  }
  const std::string ranks = ": there is no rank 4711; ranks are 0 to " +
                            std::to_string(acp_procs() - 1);
  expect_one_line("no rank, list", ranks, [] { acp_create_list(4711); });
  expect_one_line("no rank, vector", ranks, [] { acp_create_vector(8, 4711); });
  const std::array<int, 1> all{0};
  expect_one_line("no rank, map", ranks,
                  [&] { acp_create_map(1, all.data(), 8, 4711); });
  expect_one_line("no slots",
                  "acp_create_map: num_slots is 0; it has to be 1 or more",
                  [&] { acp_create_map(1, all.data(), 0, 0); });
  expect_one_line("no ranks", "acp_create_set: num_ranks is 0; it has to be 1",
                  [&] { acp_create_set(0, all.data(), 8, 0); });
  expect_one_line("too large",
                  "acp_create_vector: 1125899906842624 bytes are "
                  "too many; at most ",
                  [] { acp_create_vector(std::size_t{1} << 50, 0); });
  const acp_map_t map = acp_create_map(1, all.data(), 8, 0);
  const acp_ga_t element = acp_query_starter_ga(acp_rank());
  acp_insert_map(map, {{element, 8}, {element, 3}});
  expect_one_line("counter", "the value has 3 bytes; a counter has 8", [&] {
    acpx_upsert_add8_map(map, {element, 8}, 1, nullptr);
  });
  expect_one_line("key", "the key is empty; it has to have 1 byte or more",
                  [&] {
                    acp_find_map(map, {element, 0});
                  });
  EXPECT_EQ(acp_sync(), 0);
}

SPMD_CASE(lines_of_dead_keys, "use of a dead key: one line") {
  static std::uint64_t word = 0;
  const Block own(Memory::kLibrary, 64);
  const acp_atkey_t key = acp_register_memory(&word, 8, 0);
  const auto all = spmd::gather(acp_query_ga(key, &word));
  EXPECT_EQ(acp_unregister_memory(key), 0);
  const acp_ga_t dead = all.back();
  const std::string is_dead = " on rank " + std::to_string(acp_procs() - 1) +
                              " was unregistered, or was never registered";
  expect_one_line("copy", is_dead, [&] {
    settle(acp_copy(own.mine(), dead, 8, ACP_HANDLE_NULL));
  });
  expect_one_line("atomic", is_dead, [&] {
    settle(acp_add8(own.mine(), dead, 1, ACP_HANDLE_NULL));
  });
  expect_one_line("unregistered twice", "has ended this region",
                  [&] { acp_unregister_memory(key); });
}

SPMD_CASE(lines_of_atomics, "bad atomics: one line each") {
  const Block block(Memory::kLibrary, 64);
  const int peer = acp_procs() - 1;
  expect_one_line("misaligned", "has to be a multiple of 8", [&] {
    settle(acp_add8(block.mine(), block.at(peer, 12), 1, ACP_HANDLE_NULL));
  });
  if (acp_procs() > 1) {
    expect_one_line(
        "dst elsewhere",
        "is on rank " + std::to_string(peer) +
            ", and dst, the result, has to be on the caller's "
            "rank 0",
        [&] {
          settle(acp_add8(block.at(peer), block.mine(), 1, ACP_HANDLE_NULL));
        });
  }
}

SPMD_CASE(lines_of_words, "bad words to wait for: one line each") {
  const Block block(Memory::kLibrary, 64);
  const int peer = acp_procs() - 1;
  expect_one_line("misaligned", "has to be a multiple of 8",
                  [&] { acpx_wait_word(block.mine(4), 0, 0, nullptr); });
  if (acp_procs() > 1) {
    expect_one_line("word elsewhere", "has to be on the caller's rank 0",
                    [&] { acpx_wait_word(block.at(peer), 0, 0, nullptr); });
  }
}

// A copy and a put leave starter memory by half of their bytes, and a signal by
// its whole word. All three lines have to show the sizes.
SPMD_CASE(
    lines_of_starter_memory,
    "bytes that leave starter memory: the line has sizes and the option") {
  std::uint64_t bytes = 0;
  EXPECT_EQ(acpx_setting("ACP_STARTER_MEMORY", &bytes), 0);
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  const int peer = acp_procs() - 1;
  const acp_ga_t theirs = acp_query_starter_ga(peer);
  const std::string has = "leave starter memory of rank " +
                          std::to_string(peer) + ", which has " +
                          std::to_string(bytes) + " bytes, ";
  const std::string half = has +
                           "4 of them from there; acprun "
                           "--acp-startermemsize";
  const std::string whole = has +
                            "0 of them from there; acprun "
                            "--acp-startermemsize";
  expect_one_line("copy", half, [&] {
    settle(acp_copy(theirs + bytes - 4, mine, 8, ACP_HANDLE_NULL));
  });
  expect_one_line("put with signal", half, [&] {
    settle(acpx_put_signal(theirs + bytes - 4, mine, 8, theirs, 1,
                           ACP_HANDLE_NULL));
  });
  expect_one_line("its word", whole, [&] {
    settle(
        acpx_put_signal(theirs, mine, 8, theirs + bytes, 1, ACP_HANDLE_NULL));
  });
}

SPMD_CASE(lines_of_elements, "an element that leaves its memory: one line") {
  std::uint64_t bytes = 0;
  EXPECT_EQ(acpx_setting("ACP_STARTER_MEMORY", &bytes), 0);
  const std::array<int, 1> ranks = {0};
  const acp_map_t map = acp_create_map(1, ranks.data(), 8, 0);
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  expect_one_line("value",
                  "1048576 bytes at " + hex(mine + 8) +
                      " leave their memory on rank 0, where starter memory "
                      "has " +
                      std::to_string(bytes - 8) +
                      " bytes from there; acprun --acp-startermemsize",
                  [&] {
                    acp_insert_map(map, {{mine, 8}, {mine + 8, 1 << 20}});
                  });
}

SPMD_CASE(lines_of_channels, "a send at the wrong end: one line") {
  const int peer = acp_procs() - 1;
  if (peer == 0) {
    return;
  }
  const int me = acp_rank();
  const acp_ch_t ch =
      me == 0 || me == peer ? acp_create_ch(peer, 0) : ACP_CH_NULL;
  std::uint64_t word = 0;
  expect_one_line("send", "this rank is its receiver",
                  [&] { acp_nbsend_ch(ch, &word, 8); });
  if (ch != ACP_CH_NULL) {
    acp_free_ch(ch);
  }
}

SPMD_CASE(lines_of_acp_init, "acp_init twice: one line") {
  expect_one_line("twice", "", [] { acp_init(nullptr, nullptr); });
}

SPMD_CASE(lines_of_success, "what succeeds says nothing") {
  const Block block(Memory::kRegistered, 4096);
  EXPECT_EQ(acp_sync(), 0);
  StderrCapture capture;
  EXPECT_DONE(acp_copy(block.at(spmd::right_of(acp_rank())), block.mine(), 0,
                       ACP_HANDLE_NULL));
  EXPECT_DONE(acp_copy(block.at(spmd::right_of(acp_rank())), block.mine(), 99,
                       ACP_HANDLE_NULL));
  acp_complete(acp_handle_t{1} << 50);
  // A word that no copy of a neighbour writes.
  EXPECT_EQ(acpx_wait_word(block.mine() + 2048, 0, 0, nullptr), 1);
  EXPECT_EQ(acp_sync(), 0);
  EXPECT_EQ(capture.stop(), "");
}
