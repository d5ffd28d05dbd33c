// Adds up the time that the program spends in QMP. The functions of qmp.h for
// messages and global operations call it, from any thread, and output_api.cc
// for the total of all threads. It takes no lock, and reads the clock only
// while profiling is on.
#include "qmp/profile.h"

#include <atomic>

#include "qmp.h"

namespace qmp {

namespace {

std::atomic<bool> g_is_profiling{false};
std::atomic<double> g_seconds{0};

}  // namespace

Timed::Timed()
    : start_(g_is_profiling.load(std::memory_order_relaxed) ? QMP_time() : 0) {}

Timed::~Timed() {
  if (start_ != 0) {
    g_seconds.fetch_add(QMP_time() - start_, std::memory_order_relaxed);
  }
}

void set_profiling(bool is_on) {
  g_is_profiling.store(is_on, std::memory_order_relaxed);
}

double profiled_seconds() {
  return g_seconds.load(std::memory_order_relaxed);
}

void reset_profiled_seconds() {
  g_seconds.store(0, std::memory_order_relaxed);
}

}  // namespace qmp
