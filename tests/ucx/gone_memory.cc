// A rank whose memory is gone while a peer uses it: `gone_memory ACCESS HOW`.
// Rank 1 accesses registered memory of rank 0, by "put", "get" or "add". When
// UCX does these accesses by itself, rank 0 loses the memory, without
// acp_unregister_memory, by "unmap" or "protect", and rank 1 goes on. With HOW
// "handle" the program has a handler of SIGSEGV of its own, which prints
// "handled". gone_memory.sh starts it.
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "acp.h"

namespace {

constexpr std::size_t kBytes = 65536;
/// The first access asks for the key, and those after the answer go by UCX.
constexpr int kAccesses = 64;

void on_fault(int) {
  constexpr std::string_view kText = "handled\n";
  (void)!::write(STDOUT_FILENO, kText.data(), kText.size());
  ::_exit(3);
}

bool access(std::string_view how, acp_ga_t there) {
  const acp_ga_t mine = acp_query_starter_ga(acp_rank()) + 64;
  acp_errno = 0;
  acp_complete(how == "put"   ? acp_copy(there, mine, 8, ACP_HANDLE_NULL)
               : how == "get" ? acp_copy(mine, there, 8, ACP_HANDLE_NULL)
                              : acp_add8(mine, there, 1, ACP_HANDLE_NULL));
  return acp_errno == 0;
}

void* start_of_memory() {
  return mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string_view what = argv[1];
  const std::string_view how = argv[2];
  if (how == "handle") std::signal(SIGSEGV, on_fault);
  if (acp_init(&argc, &argv) != 0) return 1;
  void* memory = start_of_memory();
  if (memory == MAP_FAILED) return 1;
  const acp_atkey_t key = acp_register_memory(memory, kBytes, 0);
  auto* starter = static_cast<acp_ga_t*>(
      acp_query_address(acp_query_starter_ga(acp_rank())));
  if (acp_rank() == 0) {
    starter[0] = acp_query_ga(key, memory);
    acp_complete(acp_copy(acp_query_starter_ga(1), acp_query_starter_ga(0), 8,
                          ACP_HANDLE_NULL));
  }
  acp_sync();
  const acp_ga_t there = starter[0] + 4096;
  bool ok = true;
  for (int i = 0; i < kAccesses && acp_rank() == 1; ++i) {
    ok = access(what, there) && ok;
  }
  acp_sync();
  if (acp_rank() == 0 && how == "protect") {
    ok = mprotect(memory, kBytes, PROT_NONE) == 0;
  } else if (acp_rank() == 0) {
    ok = munmap(memory, kBytes) == 0;
  }
  acp_sync();
  if (acp_rank() == 1) {
    const bool is_done = access(what, there);
    std::printf("%s\n", is_done ? "the access succeeded" : "the access failed");
    std::fflush(stdout);
  }
  acp_sync();
  acp_finalize();
  return ok ? 0 : 1;
}
