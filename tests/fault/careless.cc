// A program that never checks whether a call has failed; errors_test.cc runs
// it. Rank 0 copies a thousand times to an address where rank 1 has no memory,
// and then all ranks end normally. An argument chooses other behaviour of rank
// 0:
//   abort     calls acp_abort before any call has failed
//   wait      waits for a message of rank 1, which is in acp_finalize
//   constant  sends rank 1 a message from read-only memory, which is no error
#include <sys/mman.h>

#include <cstddef>
#include <cstdio>
#include <string_view>

#include <acp.h>

namespace {

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

}  // namespace

/// No result is checked, on purpose.
int main(int argc, char** argv) {
  acp_init(&argc, &argv);
  if (argc > 1 && std::string_view(argv[1]) == "abort" && acp_rank() == 0) {
    acp_abort("enough");
  }
  if (argc > 1 && std::string_view(argv[1]) == "wait") {
    if (acp_rank() == 0) {
      char byte = 0;
      acp_wait_ch(acp_nbrecv_ch(acp_create_ch(1, 0), &byte, 1));
    }
    return acp_finalize();
  }
  if (argc > 1 && std::string_view(argv[1]) == "constant") {
    return send_constant();
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
