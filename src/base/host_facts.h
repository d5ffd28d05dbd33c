// Facts about this host: its name, and the processors that we may use.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

namespace acp {

/// A set of processors by the kernel's numbers, in the form that
/// sched_setaffinity takes. A plain value. Processors with numbers of kMaxCpus
/// and above are ignored.
struct CpuMask {
  /// A cpu_set_t of the C library has this many.
  static constexpr unsigned kMaxCpus = 1024;

  void set(unsigned cpu) noexcept { words[cpu / 64] |= bit(cpu); }

  bool has(unsigned cpu) const noexcept {
    return cpu < kMaxCpus && (words[cpu / 64] & bit(cpu)) != 0;
  }

  bool is_empty() const noexcept { return *this == CpuMask{}; }

  /// The number of processors in the set.
  std::uint32_t count() const noexcept {
    std::uint32_t cpus = 0;
    for (const std::uint64_t word : words) {
      cpus += static_cast<std::uint32_t>(std::popcount(word));
    }
    return cpus;
  }

  friend bool operator==(const CpuMask&, const CpuMask&) = default;

  std::array<std::uint64_t, kMaxCpus / 64> words{};

 private:
  static std::uint64_t bit(unsigned cpu) noexcept {
    return std::uint64_t{1} << (cpu % 64);
  }
};

/// The processors on which the calling thread may run; empty when the system
/// call fails.
CpuMask allowed_cpus() noexcept;

/// Lets the calling thread run on `cpus` only. A failure changes nothing.
void bind_this_thread(const CpuMask& cpus) noexcept;

/// The number of cores that this process may use at a time, at least 1. It is
/// the smaller one of its affinity and of quota_cores().
std::uint32_t allowed_cores();

/// The number of cores that the quotas (cpu.max) of this process's control
/// group and of the groups above it leave, at least 1. UINT32_MAX: there is no
/// quota. `membership` is a file as /proc/self/cgroup, and `root` a folder as
/// /sys/fs/cgroup.
std::uint32_t quota_cores(const std::string& membership,
                          const std::string& root);

/// The host's name, or "localhost" when it has none.
std::string host_name();

}  // namespace acp
