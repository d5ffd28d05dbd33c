// Describes the machine and the job for the head line of a report; main.cc
// calls it on rank 0. It measures nothing, and an unreadable file is no error.
#include "machine.h"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include <acp/extension.h>

namespace acp::perf {

namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

const char* path_name(const Context& context) {
  if (context.procs == 1) return "own memory";
  return context.is_direct ? "shared memory" : "messages";
}

}  // namespace

Machine describe_machine() {
  return {{"version", acpx_version()},
          {"processor", processor_name()},
          {"cores", std::to_string(sysconf(_SC_NPROCESSORS_ONLN))}};
}

Machine describe_job(const Context& context) {
  Machine machine = describe_machine();
  const char* net = std::getenv("ACP_NET");
  machine.emplace_back("ranks", std::to_string(context.procs));
  machine.emplace_back("net", net != nullptr ? net : "auto");
  machine.emplace_back("path", path_name(context));
  machine.emplace_back("pinned", context.pinned);
  return machine;
}

}  // namespace acp::perf
