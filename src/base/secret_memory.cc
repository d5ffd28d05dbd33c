// Gives out parts of pages that no core dump has. Called where a process gets
// or derives keys, never on the way of a message. It logs nothing: a limit that
// forbids mlock is no failure.
#include "base/secret_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "base/assert.h"
#include "base/immortal.h"

namespace acp {

namespace {

constexpr std::size_t kLine = 64;
/// The keys of 14 colors with libsodium or 7 with intel-ipsec-mb, and the job's
/// secret.
constexpr std::size_t kRunBytes = 8192;
/// More than a function of the library of ciphers has in its frame.
constexpr std::size_t kStackBytes = 16 << 10;

constexpr std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Pages with their parts that are taken.
class Run {
 public:
  /// base() is nullptr where the system has no memory. Advice that the kernel
  /// refuses is not taken back: an old kernel lacks MADV_WIPEONFORK alone.
  explicit Run(std::size_t bytes) : bytes_(round_up(bytes, kRunBytes)) {
    void* const at = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
      return;
    }
    base_ = static_cast<std::byte*>(at);
    (void)::madvise(at, bytes_, MADV_DONTDUMP);
    (void)::madvise(at, bytes_, MADV_WIPEONFORK);
    (void)::mlock(at, bytes_);
  }

  const std::byte* base() const noexcept { return base_; }

  /// The first gap that is long enough; nullptr: there is none.
  std::byte* take(std::size_t bytes) {
    std::size_t gap = 0;
    for (const auto& [offset, size] : taken_) {
      if (offset - gap >= bytes) {
        break;
      }
      gap = offset + size;
    }
    if (bytes > bytes_ - gap) {
      return nullptr;
    }
    taken_.emplace(gap, bytes);
    return base_ + gap;
  }

  /// False: the part is not of this run.
  bool give_back(const std::byte* at) noexcept {
    return at >= base_ && at < base_ + bytes_ &&
           taken_.erase(static_cast<std::size_t>(at - base_)) != 0;
  }

 private:
  std::size_t bytes_;
  std::byte* base_ = nullptr;
  std::map<std::size_t, std::size_t> taken_;  ///< Lengths, by offset.
};

/// A process needs one run, unless it has very many colors.
class SecretMemory {
 public:
  std::byte* take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    for (Run& run : runs_) {
      if (std::byte* const at = run.take(bytes)) {
        return at;
      }
    }
    Run run(bytes);
    if (run.base() == nullptr) {
      throw std::bad_alloc();
    }
    return runs_.emplace_back(std::move(run)).take(bytes);
  }

  void give_back(const std::byte* at) noexcept {
    const std::lock_guard lock(mutex_);
    const bool is_known = std::ranges::any_of(
        runs_, [at](Run& run) { return run.give_back(at); });
    ACP_ASSERT(is_known);
  }

 private:
  std::mutex mutex_;       ///< Guards runs_.
  std::vector<Run> runs_;  ///< Never unmapped.
};

SecretMemory& secret_memory() {
  static Immortal<SecretMemory> memory;
  return *memory;
}

#if defined(__x86_64__)

/// The 16 registers that AVX-512 adds. The C library's memcpy uses them. The
/// compiler does not: it compiles for the least of all processors.
void clear_further_registers() noexcept {
  asm volatile(
      "vpxorq %xmm16, %xmm16, %xmm16\n\tvpxorq %xmm17, %xmm17, %xmm17\n\t"
      "vpxorq %xmm18, %xmm18, %xmm18\n\tvpxorq %xmm19, %xmm19, %xmm19\n\t"
      "vpxorq %xmm20, %xmm20, %xmm20\n\tvpxorq %xmm21, %xmm21, %xmm21\n\t"
      "vpxorq %xmm22, %xmm22, %xmm22\n\tvpxorq %xmm23, %xmm23, %xmm23\n\t"
      "vpxorq %xmm24, %xmm24, %xmm24\n\tvpxorq %xmm25, %xmm25, %xmm25\n\t"
      "vpxorq %xmm26, %xmm26, %xmm26\n\tvpxorq %xmm27, %xmm27, %xmm27\n\t"
      "vpxorq %xmm28, %xmm28, %xmm28\n\tvpxorq %xmm29, %xmm29, %xmm29\n\t"
      "vpxorq %xmm30, %xmm30, %xmm30\n\tvpxorq %xmm31, %xmm31, %xmm31");
}

/// A processor without AVX has 128 bits of each register.
void clear_short_registers() noexcept {
  asm volatile(
      "pxor %%xmm0, %%xmm0\n\tpxor %%xmm1, %%xmm1\n\t"
      "pxor %%xmm2, %%xmm2\n\tpxor %%xmm3, %%xmm3\n\t"
      "pxor %%xmm4, %%xmm4\n\tpxor %%xmm5, %%xmm5\n\t"
      "pxor %%xmm6, %%xmm6\n\tpxor %%xmm7, %%xmm7\n\t"
      "pxor %%xmm8, %%xmm8\n\tpxor %%xmm9, %%xmm9\n\t"
      "pxor %%xmm10, %%xmm10\n\tpxor %%xmm11, %%xmm11\n\t"
      "pxor %%xmm12, %%xmm12\n\tpxor %%xmm13, %%xmm13\n\t"
      "pxor %%xmm14, %%xmm14\n\tpxor %%xmm15, %%xmm15" ::
          : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",
            "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
            "xmm15");
}

#endif

}  // namespace

void clear_vector_registers() noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vl")) {
    clear_further_registers();
  }
  if (__builtin_cpu_supports("avx")) {
    asm volatile("vzeroall" ::
                     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
                       "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
                       "xmm13", "xmm14", "xmm15");
  } else {
    clear_short_registers();
  }
#endif
}

std::byte* take_secret_memory(std::size_t bytes) {
  return secret_memory().take(std::max(kLine, round_up(bytes, kLine)));
}

void return_secret_memory(std::byte* at, std::size_t bytes) noexcept {
  ::explicit_bzero(at, bytes);
  secret_memory().give_back(at);
}

void copy_secret(void* to, const void* from, std::size_t bytes) noexcept {
  std::memcpy(to, from, bytes);
  clear_vector_registers();
}

/// Not inlined, and without a call below it: the array has to lie where the
/// frames of the functions lay.
[[gnu::noinline]] void wipe_stack() noexcept {
  clear_vector_registers();
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): old bytes go
  std::array<std::byte, kStackBytes> room;
  ::explicit_bzero(room.data(), room.size());
}

}  // namespace acp
