// A program with known traffic: `counted PATTERN BYTES TIMES`. The tests of
// counters start it, and counted_traffic.cc has its traffic.
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "acp.h"
#include "acp/channel.h"
#include "acp/extension.h"

namespace {

/// BYTES and TIMES.
struct Size {
  std::uint64_t bytes;
  int times;
};

int next_rank() {
  return (acp_rank() + 1) % acp_procs();
}

int previous_rank() {
  return (acp_rank() + acp_procs() - 1) % acp_procs();
}

/// Offsets in starter memory: a word, then the data that is sent, then data
/// that is received from each side.
constexpr acp_ga_t kData = 64;

void ring(Size size) {
  const acp_ga_t mine = acp_query_starter_ga(acp_rank()) + kData;
  const acp_ga_t theirs = acp_query_starter_ga(next_rank()) + kData;
  for (int i = 0; i < size.times; ++i) {
    acp_copy(theirs, mine, size.bytes, ACP_HANDLE_NULL);
  }
  acp_complete(ACP_HANDLE_ALL);
}

/// Four threads at a time put to the next rank, and twice as many in all.
void threads(Size size) {
  for (int round = 0; round < 2; ++round) {
    std::vector<std::thread> all;
    for (int i = 0; i < 4; ++i) {
      all.emplace_back(ring, size);
    }
    for (std::thread& one : all) {
      one.join();
    }
  }
}

/// Every rank but 0 adds to a word of rank 0, and gets data from it.
void all_to_one(Size size) {
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  const acp_ga_t theirs = acp_query_starter_ga(0);
  for (int i = 0; acp_rank() != 0 && i < size.times; ++i) {
    acp_add8(mine, theirs, 1, ACP_HANDLE_NULL);
    acp_copy(mine + kData, theirs + kData, size.bytes, ACP_HANDLE_NULL);
  }
  acp_complete(ACP_HANDLE_ALL);
}

/// Each rank puts to both neighbours, and waits for the puts of both.
void halo(Size size) {
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  const std::atomic_ref word(
      *static_cast<std::uint64_t*>(acp_query_address(mine)));
  std::uint64_t seen = 0;
  for (int i = 0; i < size.times; ++i) {
    int side = 0;
    for (const int peer : {previous_rank(), next_rank()}) {
      const acp_ga_t theirs = acp_query_starter_ga(peer);
      acpx_put_signal(theirs + kData + ++side * size.bytes, mine + kData,
                      size.bytes, theirs, 1, ACP_HANDLE_NULL);
    }
    const auto due = static_cast<std::uint64_t>(i + 1) * 2;
    for (seen = word.load(); seen < due;) {
      acpx_wait_word(mine, seen, -1, &seen);
    }
    acp_sync();
  }
}

/// Each rank sends messages to the next one.
void channel(Size size) {
  const acp_ch_t out = acp_create_ch(acp_rank(), next_rank());
  const acp_ch_t in = acp_create_ch(previous_rank(), acp_rank());
  std::vector<char> sent(size.bytes);
  std::vector<char> received(size.bytes);
  for (int i = 0; i < size.times; ++i) {
    acp_request_t receives = acp_nbrecv_ch(in, received.data(), size.bytes);
    acp_wait_ch(acp_nbsend_ch(out, sent.data(), size.bytes));
    acp_wait_ch(receives);
  }
  acp_free_ch(out);
  acp_free_ch(in);
}

/// Each rank puts from its own memory into memory that the next one has
/// registered.
void registered(Size size) {
  std::vector<char> memory(2 * size.bytes);
  const acp_atkey_t key = acp_register_memory(memory.data(), memory.size(), 0);
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  *static_cast<acp_ga_t*>(acp_query_address(mine)) =
      acp_query_ga(key, memory.data());
  acp_sync();
  acp_copy(mine + kData, acp_query_starter_ga(next_rank()), 8, ACP_HANDLE_NULL);
  acp_complete(ACP_HANDLE_ALL);
  const acp_ga_t theirs =
      *static_cast<acp_ga_t*>(acp_query_address(mine + kData));
  for (int i = 0; i < size.times; ++i) {
    acp_copy(theirs + size.bytes, acp_query_ga(key, memory.data()), size.bytes,
             ACP_HANDLE_NULL);
  }
  acp_complete(ACP_HANDLE_ALL);
  acp_sync();
  acp_unregister_memory(key);
}

/// Four threads count the same thing, and then one counts 70 more names.
void own(Size size) {
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i) {
    all.emplace_back([size] {
      for (int step = 0; step < size.times; ++step) {
        acpx_count("bytes", size.bytes);
      }
    });
  }
  for (std::thread& one : all) {
    one.join();
  }
  for (int i = 0; i < 70; ++i) {
    acpx_count(("name " + std::to_string(i)).c_str(), 1);
  }
}

/// The ranks turn by one in acp_reset, between two rings.
void turned(Size size) {
  ring(size);
  acp_sync();
  acp_reset(next_rank());
  ring(size);
}

/// Rank 1 dies while the others wait for it.
void killed(Size size) {
  ring(size);
  acp_sync();
  if (acp_rank() == 1) {
    std::raise(SIGKILL);
  }
  acp_sync();
}

}  // namespace

int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0 || argc != 4) {
    return 2;
  }
  const std::string_view pattern = argv[1];
  const Size size = {std::strtoull(argv[2], nullptr, 10),
                     static_cast<int>(std::strtol(argv[3], nullptr, 10))};
  if (pattern == "ring") {
    ring(size);
  } else if (pattern == "threads") {
    threads(size);
  } else if (pattern == "all_to_one") {
    all_to_one(size);
  } else if (pattern == "halo") {
    halo(size);
  } else if (pattern == "channel") {
    channel(size);
  } else if (pattern == "registered") {
    registered(size);
  } else if (pattern == "own") {
    own(size);
  } else if (pattern == "turned") {
    turned(size);
  } else if (pattern == "killed") {
    killed(size);
  }
  acp_sync();
  return acp_finalize() == 0 ? 0 : 1;
}
