// Memory that ranks share without ACP, for the raw rows: a memfd of rank 0 that
// the other ranks of its host open through /proc.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace acp::perf {

inline constexpr std::size_t kRawBufferBytes = std::size_t{8} << 20;

/// With two ranks, `first` and `second` are their flags. With more ranks,
/// `first` counts arrivals and `second` is the epoch. Epochs only grow.
struct RawBarrier {
  alignas(128) std::atomic<std::uint64_t> first;
  alignas(128) std::atomic<std::uint64_t> second;
  alignas(128) std::atomic<std::uint64_t> last;  ///< Epoch that ends the row.
};

/// The start of the area: each word has a pair of cache lines of its own.
struct RawWords {
  alignas(128) std::atomic<std::uint64_t> ping;
  alignas(128) std::atomic<std::uint64_t> pong;
  alignas(128) std::atomic<std::uint64_t> alone;
  alignas(128) std::atomic<std::uint32_t> doorbell;
  RawBarrier barrier;
};

/// One mapping, unmapped by the destructor. Not thread-safe.
class RawArea {
 public:
  RawArea() = default;
  RawArea(const RawArea&) = delete;
  RawArea& operator=(const RawArea&) = delete;
  ~RawArea();

  /// Creates and maps the memfd; rank 0 calls it. False: errno says why.
  bool create();
  /// Maps the memfd `fd` of process `pid`; the other ranks call it. False:
  /// errno says why.
  bool attach(std::int64_t pid, std::int64_t fd);

  bool is_open() const noexcept { return base_ != nullptr; }

  int fd() const noexcept { return fd_; }

  RawWords& words() const noexcept {
    return *reinterpret_cast<RawWords*>(base_);
  }

  /// Both buffers have kRawBufferBytes.
  std::byte* source() const noexcept;
  std::byte* destination() const noexcept;

 private:
  bool map(int fd);

  std::byte* base_ = nullptr;
  int fd_ = -1;
};

}  // namespace acp::perf
