// Text about RLIMIT_MEMLOCK. Called by Device and BufferPool when a
// registration has failed. It may not change the limit.
#include "verbs/lock_limit.h"

#include <fmt/core.h>
#include <sys/resource.h>

namespace acp::verbs {

std::string lock_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
      limit.rlim_cur == RLIM_INFINITY) {
    return "locked memory is not limited";
  }
  return fmt::format(
      "a process may lock {} bytes (ulimit -l): allow more, as 'memlock "
      "unlimited' in /etc/security/limits.conf, and for a container "
      "--ulimit memlock=-1",
      limit.rlim_cur);
}

}  // namespace acp::verbs
