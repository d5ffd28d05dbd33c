// A library to preload: the wall clock of the process stands CLOCK_SHIFT
// seconds from the machine's. The test of clocks that differ between hosts
// (clocks.sh) starts agents and ranks of one host with it. The kernel has time
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

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static const auto real = reinterpret_cast<decltype(&clock_gettime)>(
      ::dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, now);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) {
    now->tv_sec += shift();
  }
  return result;
}

extern "C" int gettimeofday(timeval* now, void* /*zone*/) noexcept {
  timespec time{};
  const int result = clock_gettime(CLOCK_REALTIME, &time);
  now->tv_sec = time.tv_sec;
  now->tv_usec = time.tv_nsec / 1000;
  return result;
}

extern "C" time_t time(time_t* now) noexcept {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  if (now != nullptr) *now = time.tv_sec;
  return time.tv_sec;
}

#pragma GCC visibility pop
