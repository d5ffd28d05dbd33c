// Memory that ranks share without ACP: what the raw rows compare with. A memfd
// of rank 0 that the others on its host open through /proc.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace acp::perf {

inline constexpr std::size_t kRawBufferBytes = std::size_t{8} << 20;

/// Of two ranks their flags; of more a count and an epoch. They only grow.
struct RawBarrier {
  alignas(128) std::atomic<std::uint64_t> first;
  alignas(128) std::atomic<std::uint64_t> second;
  alignas(128) std::atomic<std::uint64_t> last;  ///< Epoch that ends the row.
};

/// The start of the area: words on lines of their own.
struct RawWords {
  alignas(128) std::atomic<std::uint64_t> ping;
  alignas(128) std::atomic<std::uint64_t> pong;
  alignas(128) std::atomic<std::uint64_t> alone;
  alignas(128) std::atomic<std::uint32_t> doorbell;
  RawBarrier barrier;
};

/// One mapping; unmaps itself. Not thread-safe.
class RawArea {
 public:
  RawArea() = default;
  RawArea(const RawArea&) = delete;
  RawArea& operator=(const RawArea&) = delete;
  ~RawArea();

  /// Rank 0: makes it. False: errno says why.
  bool create();
  /// The others: maps that of process `pid`. False: errno says why.
  bool attach(std::int64_t pid, std::int64_t fd);

  bool is_open() const noexcept { return base_ != nullptr; }

  int fd() const noexcept { return fd_; }

  RawWords& words() const noexcept {
    return *reinterpret_cast<RawWords*>(base_);
  }

  /// kRawBufferBytes each.
  std::byte* source() const noexcept;
  std::byte* destination() const noexcept;

 private:
  bool map(int fd);

  std::byte* base_ = nullptr;
  int fd_ = -1;
};

}  // namespace acp::perf
