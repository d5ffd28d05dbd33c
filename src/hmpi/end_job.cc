// Ends the job with one line; see end_job.h.
#include "hmpi/end_job.h"

#include <atomic>
#include <cstdlib>

#include "hmpi/log.h"

namespace hmpi {

namespace {

std::atomic<EndJob> g_end{nullptr};

}  // namespace

void set_end_job(EndJob end) noexcept {
  g_end.store(end);
}

void end_job(const std::string& text) {
  log(ACPX_LOG_ERROR, text);
  if (const EndJob end = g_end.load()) {
    end();
  }
  std::abort();
}

}  // namespace hmpi
