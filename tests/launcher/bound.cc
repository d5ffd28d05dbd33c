// A rank that says how many processors its own thread, and the library's, may
// use. With the argument "narrow" it first binds itself to its processor.
#include <dirent.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "acp.h"

namespace {

int processors_of(pid_t thread) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  return sched_getaffinity(thread, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus)
                                                            : -1;
}

/// The number for the other thread of this process that may use most. A
/// sanitizer adds a thread of its own.
int processors_of_library() {
  DIR* tasks = opendir("/proc/self/task");
  int processors = -1;
  while (const dirent* entry = readdir(tasks)) {
    const auto thread =
        static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (thread > 0 && thread != getpid()) {
      processors = std::max(processors, processors_of(thread));
    }
  }
  closedir(tasks);
  return processors;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "narrow") {
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(static_cast<std::size_t>(sched_getcpu()), &here);
    if (sched_setaffinity(0, sizeof here, &here) != 0) return 2;
  }
  if (acp_init(&argc, &argv) != 0) return 1;
  std::printf("mine %d library %d\n", processors_of(0),
              processors_of_library());
  std::fflush(stdout);
  return acp_finalize();
}
