// A program for output_test.cc. It prints lines in all ways of C and C++,
// without a flush, and then rank 1 ends as the argument says: "abort" calls
// acp_abort, "kill" raises SIGKILL. The other ranks wait until the job is
// ended.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <iostream>
#include <string_view>

#include <acp.h>

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "";
  std::puts("before acp_init");
  if (acp_init(&argc, &argv) != 0) return 1;
  std::printf("rank %d by printf\n", acp_rank());
  std::puts("by puts");
  std::fputs("by putchar", stdout);
  std::putchar('\n');
  std::cout << "by cout\n";
  acp_sync();
  if (acp_rank() == 1) {
    std::fputs("unfinished", stdout);
    if (how == "abort") acp_abort("asked for");
    (void)std::raise(SIGKILL);
  }
  for (;;) {
    pause();
  }
}
