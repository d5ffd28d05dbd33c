// A program that never checks whether a call has failed; errors_test.cc runs
// it. Rank 0 copies a thousand times to an address where rank 1 has no memory,
// and then all ranks end normally. An argument chooses other behaviour of rank
// 0:
//   abort     calls acp_abort before any call has failed
//   wait      waits for a message of rank 1, which is in acp_sync
//   left      calls acp_abort when rank 1 waits for it in acp_finalize
//   leave     waits for messages of rank 1, which calls acp_finalize: one was
//             sent before, the others never come
//   upsert    counts in a map of rank 1, which is stopped
//   allocate  allocates memory of rank 1, which is stopped
//   close     closes all descriptors of the process, as daemons do, and calls
//             acp_finalize, which fails then
//   constant  sends rank 1 a message from read-only memory, which is no error
//   cut       sends rank 1 messages that are longer than their receives: two
//             short ones, and one that is fetched
// With "early" all ranks call acp_sync before acp_init.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <acp.h>
#include <acp/extension.h>

namespace {

int send_too_much() {
  constexpr std::size_t kBytes = 1 << 20;
  static char memory[kBytes];
  const bool is_sender = acp_rank() == 0;
  const acp_ch_t channel = acp_create_ch(0, 1);
  for (const std::size_t size : {std::size_t{100}, std::size_t{100}, kBytes}) {
    const acp_request_t request = is_sender
                                      ? acp_nbsend_ch(channel, memory, size)
                                      : acp_nbrecv_ch(channel, memory, 10);
    std::printf("%s %zu\n", is_sender ? "sent" : "received",
                acp_wait_ch(request));
  }
  acp_free_ch(channel);
  return acp_finalize();
}

int send_constant() {
  constexpr std::size_t kBytes = 1 << 20;
  const bool is_sender = acp_rank() == 0;
  void* memory =
      mmap(nullptr, kBytes, is_sender ? PROT_READ : PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const acp_ch_t channel = acp_create_ch(0, 1);
  const acp_request_t request = is_sender
                                    ? acp_nbsend_ch(channel, memory, kBytes)
                                    : acp_nbrecv_ch(channel, memory, kBytes);
  const std::size_t received = acp_wait_ch(request);
  acp_free_ch(channel);
  std::printf("done with %zu bytes\n", received);
  return acp_finalize();
}

/// Over a network rank 1 has to answer each of the calls, and is stopped.
int wait_for_stopped(std::string_view call) {
  const int owner = 1;
  acp_map_t map{};
  if (acp_rank() == owner) {
    map = acp_create_map(1, &owner, 4, owner);
    std::memcpy(acp_query_address(acp_query_starter_ga(owner)), &map.ga,
                sizeof map.ga);
  }
  acp_sync();
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  acp_complete(acp_copy(mine, acp_query_starter_ga(owner), sizeof map.ga,
                        ACP_HANDLE_NULL));
  std::memcpy(&map.ga, acp_query_address(mine), sizeof map.ga);
  map.num_ranks = 1;
  map.num_slots = 4;
  acp_sync();
  if (acp_rank() == owner) {
    raise(SIGSTOP);
  }
  if (call == "upsert") {
    const acp_element_t key{mine, sizeof map.ga};
    acpx_upsert_add8_map(map, key, 1, nullptr);
  } else {
    acp_malloc(1 << 20, owner);
  }
  return acp_finalize();
}

/// Rank 1 ends without a wait for its send. Rank 0 creates two ends more than
/// rank 1, and receives once at the first, and frees the second with a receive
/// under way.
int leave_early() {
  char byte = 'a';
  const acp_ch_t first = acp_create_ch(1, 0);
  if (acp_rank() == 1) {
    acp_nbsend_ch(first, &byte, 1);
    return acp_finalize();
  }
  const acp_ch_t second = acp_create_ch(1, 0);
  const acp_ch_t third = acp_create_ch(1, 0);
  const acp_request_t late = acp_nbrecv_ch(third, &byte, 1);
  std::printf("third: %d\n", acp_free_ch(third));
  std::printf("late: %d\n", static_cast<int>(acp_wait_ch(late)));
  for (const acp_ch_t ch : {first, second, second}) {
    std::printf("received %d\n",
                static_cast<int>(acp_wait_ch(acp_nbrecv_ch(ch, &byte, 1))));
  }
  std::printf("second: %d\n", acp_free_ch(second));
  return acp_finalize();
}

/// The connection to the launcher is among the descriptors.
int close_all() {
  if (acp_rank() == 0) {
    closefrom(STDERR_FILENO + 1);
  }
  std::printf("acp_finalize: %d\n", acp_finalize());
  return 0;
}

}  // namespace

/// No result is checked, on purpose.
int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "early") {
    acp_sync();
    std::puts("went on");
  }
  acp_init(&argc, &argv);
  if (argc > 1 && std::string_view(argv[1]) == "abort" && acp_rank() == 0) {
    acp_abort("enough");
  }
  if (argc > 1 && std::string_view(argv[1]) == "wait") {
    if (acp_rank() == 0) {
      char byte = 0;
      acp_wait_ch(acp_nbrecv_ch(acp_create_ch(1, 0), &byte, 1));
    } else {
      acp_sync();
    }
    return acp_finalize();
  }
  if (argc > 1 && (std::string_view(argv[1]) == "upsert" ||
                   std::string_view(argv[1]) == "allocate")) {
    return wait_for_stopped(argv[1]);
  }
  if (argc > 1 && std::string_view(argv[1]) == "leave") {
    return leave_early();
  }
  if (argc > 1 && std::string_view(argv[1]) == "left") {
    if (acp_rank() == 0) {
      acp_sync();  // fails as soon as rank 1 is in acp_finalize
      acp_abort("enough");
    }
    return acp_finalize();
  }
  if (argc > 1 && std::string_view(argv[1]) == "constant") {
    return send_constant();
  }
  if (argc > 1 && std::string_view(argv[1]) == "cut") {
    return send_too_much();
  }
  if (argc > 1 && std::string_view(argv[1]) == "close") {
    return close_all();
  }
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  if (acp_rank() == 0) {
    for (int i = 0; i < 1000; ++i) {
      acp_copy(acp_query_starter_ga(1) + 20'000, mine, 8, ACP_HANDLE_NULL);
    }
  }
  acp_sync();
  std::puts("done");
  acp_finalize();
  return 0;
}
