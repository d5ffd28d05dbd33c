// C's stdout of a rank. Called when a job begins and when it is ended early. At
// the end it may not wait for a thread of the program that holds stdout's lock.
#include "runtime/standard_output.h"

#include <cstdio>
#include <cstdlib>

namespace acp::runtime {

void buffer_output_by_line(const Settings& settings) noexcept {
  if (settings.text(SettingId::kStdout) != "line") {
    return;
  }
  // stdout gets a new buffer and keeps it for ever. If the program has printed
  // already, glibc would go on filling the old buffer, and a line that putchar
  // or puts ends would stay inside. glibc writes out the old buffer first.
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
