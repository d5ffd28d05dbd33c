#include "launcher/watchdog.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

namespace acp::launcher {

namespace {

using std::chrono::milliseconds;

constexpr int kBusyShare = 20;  // one part in 20 is 5 %, of each rank

/// Processor time of a process so far, from /proc.
milliseconds processor_time(std::uint32_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  const std::size_t close = line.rfind(')');
  if (close == std::string::npos) return milliseconds(0);
  // Behind the name: state is field 3, utime and stime are 14 and 15.
  std::istringstream fields(line.substr(close + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field)
    fields >> skipped;
  long user = 0;
  long system = 0;
  fields >> user >> system;
  return milliseconds((user + system) * 1000 / ::sysconf(_SC_CLK_TCK));
}

}  // namespace

bool Watchdog::is_stuck(const protocol::HostSegment& segment,
                        const Rollcall& rollcall) {
  if (limit_.count() == 0) return false;
  if (!all_wait(segment, rollcall)) {
    waiting_since_.reset();
    return false;
  }
  milliseconds used(0);
  int ranks = 0;
  for (std::uint32_t slot = 0; slot < segment.header().local_procs; ++slot) {
    if (rollcall.has_exited(slot)) continue;
    used += processor_time(rollcall.pid(slot));
    ++ranks;
  }
  const auto now = Clock::now();
  if (!waiting_since_) {
    waiting_since_ = Start{now, used};
    return false;
  }
  const auto waited = now - waiting_since_->time;
  if ((used - waiting_since_->used) * kBusyShare >
      (waited + milliseconds(400)) * ranks) {
    waiting_since_ = Start{now, used};
    return false;
  }
  return waited >= limit_;
}

}  // namespace acp::launcher
