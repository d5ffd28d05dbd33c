// A program with small operations between ranks: `talk PATTERN COUNT [RANK]`.
// The tests of udp in this directory start it, and those of stopped ranks.
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "acp.h"
#include "acp/channel.h"
#include "acp/extension.h"

namespace {

/// Rank 0 puts, and completes all puts at the end.
void put(std::uint64_t count) {
  const acp_ga_t mine = acp_query_starter_ga(0);
  const acp_ga_t theirs = acp_query_starter_ga(1);
  for (std::uint64_t i = 0; acp_rank() == 0 && i < count; ++i) {
    acp_copy(theirs, mine, 8, ACP_HANDLE_NULL);
  }
  acp_complete(ACP_HANDLE_ALL);
}

/// Rank 0 puts 64 words at a time, and completes them by one call.
void put_windows(std::uint64_t count) {
  const acp_ga_t mine = acp_query_starter_ga(0);
  const acp_ga_t theirs = acp_query_starter_ga(1);
  for (std::uint64_t i = 0; acp_rank() == 0 && i < count; ++i) {
    acp_handle_t last = ACP_HANDLE_NULL;
    for (int j = 0; j < 64; ++j) {
      last = acp_copy(theirs, mine, 8, ACP_HANDLE_NULL);
    }
    acp_complete(last);
  }
}

/// Rank 0 adds to a list of rank 1.
void push(std::uint64_t count) {
  if (acp_rank() == 0) {
    const acp_list_t list = acp_create_list(1);
    const acp_element_t element = {acp_query_starter_ga(0), 8};
    for (std::uint64_t i = 0; i < count; ++i) {
      acp_push_back_list(list, element, 1);
    }
  }
}

/// Rank 0 inserts one element again and again into a map of rank 1.
void insert(std::uint64_t count) {
  if (acp_rank() == 0) {
    const int ranks[] = {1};
    const acp_map_t map = acp_create_map(1, ranks, 64, 0);
    const acp_element_t element = {acp_query_starter_ga(0), 8};
    for (std::uint64_t i = 0; i < count; ++i) {
      acp_insert_map(map, {element, element});
    }
  }
}

/// Rank 0 sends messages of 8 bytes on a channel to rank 1.
void stream(std::uint64_t count) {
  const acp_ch_t channel = acp_create_ch(0, 1);
  std::uint64_t message = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    acp_wait_ch(acp_rank() == 0
                    ? acp_nbsend_ch(channel, &message, sizeof message)
                    : acp_nbrecv_ch(channel, &message, sizeof message));
  }
  acp_free_ch(channel);
}

/// Messages of 4 KiB go from rank 0 to rank 1 and back.
void exchange(std::uint64_t count) {
  const int me = acp_rank();
  const acp_ch_t there = acp_create_ch(me, 1 - me);
  const acp_ch_t back = acp_create_ch(1 - me, me);
  static char message[4096];
  for (std::uint64_t i = 0; i < count; ++i) {
    for (const bool sends : {me == 0, me != 0}) {
      acp_wait_ch(sends ? acp_nbsend_ch(there, message, sizeof message)
                        : acp_nbrecv_ch(back, message, sizeof message));
    }
  }
  acp_free_ch(there);
  acp_free_ch(back);
}

/// Rank 0 frees its ends of channels that never sent. They connect first, one
/// after the other, so the message of a last channel comes behind all of them.
void free_unused(std::uint64_t count) {
  std::vector<acp_ch_t> unused;
  for (std::uint64_t i = 0; i < count; ++i) {
    unused.push_back(acp_create_ch(0, 1));
  }
  const acp_ch_t last = acp_create_ch(0, 1);
  acp_sync();
  if (acp_rank() == 0) {
    for (const acp_ch_t channel : unused) {
      acp_free_ch(channel);
    }
  }
  std::uint64_t message = 0;
  acp_wait_ch(acp_rank() == 0 ? acp_nbsend_ch(last, &message, sizeof message)
                              : acp_nbrecv_ch(last, &message, sizeof message));
  acp_free_ch(last);
}

/// Each rank answers the signal of the other.
void answer(std::uint64_t count) {
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  const acp_ga_t theirs = acp_query_starter_ga(1 - acp_rank());
  for (std::uint64_t i = 0; i < count; ++i) {
    if (acp_rank() == 0) {
      acpx_put_signal(theirs + 64, mine, 8, theirs + 8, 1, ACP_HANDLE_NULL);
    }
    acpx_wait_word(mine + 8, i, -1, nullptr);
    if (acp_rank() == 1) {
      acpx_put_signal(theirs + 64, mine, 8, theirs + 8, 1, ACP_HANDLE_NULL);
    }
  }
}

/// Each rank writes to each, between two barriers.
void all(std::uint64_t count) {
  const int me = acp_rank();
  const int ranks = acp_procs();
  const acp_ga_t mine = acp_query_starter_ga(me);
  for (std::uint64_t i = 0; i < count; ++i) {
    acp_sync();
    for (int distance = 0; distance < ranks; ++distance) {
      const acp_ga_t theirs = acp_query_starter_ga((me + distance) % ranks);
      acp_copy(theirs + 8, mine, 8, ACP_HANDLE_NULL);
    }
    acp_complete(ACP_HANDLE_ALL);
    acp_sync();
  }
}

/// A rank stops while the others wait for it. Before that, it waits for 100 ms,
/// so that it sends the acks that it owes.
void stop(int rank, bool is_sync) {
  acp_sync();
  if (acp_rank() == rank) {
    acpx_wait_word(acp_query_starter_ga(rank) + 8, 0, 100, nullptr);
    raise(SIGSTOP);
  }
  if (is_sync) {
    acp_sync();
  } else {
    acpx_wait_word(acp_query_starter_ga(acp_rank()) + 8, 0, -1, nullptr);
  }
}

}  // namespace

/// The argument selects the pattern; an unknown pattern means answer().
int main(int argc, char** argv) {
  if (acp_init(&argc, &argv) != 0 || argc < 3) {
    return 1;
  }
  const std::string_view pattern(argv[1]);
  const std::uint64_t count = std::strtoull(argv[2], nullptr, 10);
  const int stopped =
      argc > 3 ? static_cast<int>(std::strtol(argv[3], nullptr, 10)) : 1;
  if (pattern == "put") {
    put(count);
  } else if (pattern == "windows") {
    put_windows(count);
  } else if (pattern == "push") {
    push(count);
  } else if (pattern == "insert") {
    insert(count);
  } else if (pattern == "stream") {
    stream(count);
  } else if (pattern == "exchange") {
    exchange(count);
  } else if (pattern == "free_unused") {
    free_unused(count);
  } else if (pattern == "all") {
    all(count);
  } else if (pattern == "stop_sync" || pattern == "stop_word") {
    stop(stopped, pattern == "stop_sync");
  } else if (pattern == "stop_renumbered") {
    acp_reset(1 - acp_rank());
    stop(stopped, false);
  } else {
    answer(count);
  }
  return acp_finalize() == 0 ? 0 : 1;
}
