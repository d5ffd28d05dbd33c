// A library to preload: the wall clock of the process stands CLOCK_SHIFT
// seconds from the machine's. The test of clocks that differ between hosts
// (clocks.sh) starts daemons and ranks of one host with it. The kernel has time
// namespaces for the other clocks only.
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

#include <cstdlib>

namespace {

time_t shift() {
  static const time_t seconds = [] {
    const char* text = std::getenv("CLOCK_SHIFT");
    return text == nullptr ? 0 : std::strtol(text, nullptr, 10);
  }();
  return seconds;
}

}  // namespace

#pragma GCC visibility push(default)

extern "C" int clock_gettime(clockid_t clock_id, timespec* tp) noexcept {
  static const auto real = reinterpret_cast<decltype(&clock_gettime)>(
      ::dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock_id, tp);
  if (clock_id == CLOCK_REALTIME || clock_id == CLOCK_REALTIME_COARSE) {
    tp->tv_sec += shift();
  }
  return result;
}

extern "C" int gettimeofday(timeval* tv, void* /*zone*/) noexcept {
  timespec time{};
  const int result = clock_gettime(CLOCK_REALTIME, &time);
  tv->tv_sec = time.tv_sec;
  tv->tv_usec = time.tv_nsec / 1000;
  return result;
}

extern "C" time_t time(time_t* timer) noexcept {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  if (timer != nullptr) *timer = time.tv_sec;
  return time.tv_sec;
}

#pragma GCC visibility pop
