#include "runtime/standard_output.h"

#include <cstdio>
#include <cstdlib>

namespace acp::runtime {

void buffer_output_by_line(const Settings& settings) noexcept {
  if (settings.text(SettingId::kStdout) != "line") {
    return;
  }
  // A new buffer, which stdout keeps for ever: with the one that it has, glibc
  // goes on filling it when the program has printed already, and a line ended
  // by putchar or puts stays inside. What the old one holds is written first.
  if (auto* buffer = static_cast<char*>(std::malloc(BUFSIZ))) {
    (void)std::setvbuf(stdout, buffer, _IOLBF, BUFSIZ);
  }
}

void flush_output() noexcept {
  if (::ftrylockfile(stdout) != 0) {
    return;
  }
  (void)::fflush_unlocked(stdout);
  ::funlockfile(stdout);
}

}  // namespace acp::runtime
