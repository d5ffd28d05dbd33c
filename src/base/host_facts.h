// What the host tells about itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace acp {

/// Processors, by the kernel's numbers. Plain value, as sched_setaffinity takes
/// it. Processors from kMaxCpus on do not exist for us.
struct CpuMask {
  static constexpr unsigned kMaxCpus = 1024;

  void set(unsigned cpu) noexcept { words[cpu / 64] |= bit(cpu); }

  bool has(unsigned cpu) const noexcept {
    return cpu < kMaxCpus && (words[cpu / 64] & bit(cpu)) != 0;
  }

  bool is_empty() const noexcept { return *this == CpuMask{}; }

  friend bool operator==(const CpuMask&, const CpuMask&) = default;

  std::array<std::uint64_t, kMaxCpus / 64> words{};

 private:
  static std::uint64_t bit(unsigned cpu) noexcept {
    return std::uint64_t{1} << (cpu % 64);
  }
};

/// The processors that the calling thread may run on; empty when the kernel
/// does not tell.
CpuMask allowed_cpus() noexcept;

/// Lets the calling thread run on these only. Failing leaves it as it was.
void bind_this_thread(const CpuMask& cpus) noexcept;

/// Cores that this process may use at a time: its affinity, and the quota of
/// its control group. At least 1.
std::uint32_t allowed_cores();

/// The host's name, or "localhost" when it has none.
std::string host_name();

}  // namespace acp
