// Contents of messages that follow from a seed, and receive buffers that notice
// when a write goes beside them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "check.h"

namespace mpi_check {

/// Mixes numbers to one seed. Different numbers give different contents.
inline std::uint64_t seed_of(std::initializer_list<std::int64_t> numbers) {
  std::uint64_t seed = 0x9e37'79b9'7f4a'7c15;
  for (const std::int64_t number : numbers) {
    seed ^= static_cast<std::uint64_t>(number);
    seed *= 0xbf58'476d'1ce4'e5b9;
    seed ^= seed >> 29;
  }
  return seed;
}

/// The 8 bytes with this number of a message.
inline std::uint64_t word_of(std::uint64_t seed, std::size_t index) {
  const std::uint64_t mixed = (seed + index) * 0x94d0'49bb'1331'11eb;
  return mixed ^ (mixed >> 31);
}

inline void fill(std::byte* data, std::size_t bytes, std::uint64_t seed) {
  for (std::size_t at = 0; at < bytes; at += 8) {
    const std::uint64_t word = word_of(seed, at / 8);
    std::memcpy(data + at, &word, bytes - at < 8 ? bytes - at : 8);
  }
}

/// The first byte that differs from the contents of `seed`, or `bytes`.
inline std::size_t first_difference(const std::byte* data,
                                    std::size_t bytes,
                                    std::uint64_t seed) {
  for (std::size_t at = 0; at < bytes; at += 8) {
    const std::uint64_t word = word_of(seed, at / 8);
    const std::size_t here = bytes - at < 8 ? bytes - at : 8;
    if (std::memcmp(data + at, &word, here) != 0) return at;
  }
  return bytes;
}

inline std::vector<std::byte> contents_of(std::size_t bytes,
                                          std::uint64_t seed) {
  std::vector<std::byte> data(bytes);
  fill(data.data(), bytes, seed);
  return data;
}

/// A buffer between two guards. Its bytes and the guards start as kGuard.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::size_t bytes)
      : memory_(bytes + 2 * kGuardBytes, kGuard) {}

  std::byte* data() { return memory_.data() + kGuardBytes; }

  std::size_t size() const { return memory_.size() - 2 * kGuardBytes; }

  void clear() { std::fill(memory_.begin(), memory_.end(), kGuard); }

  /// Is everything from this byte on, and everything before the buffer, as it
  /// was at the start?
  bool is_untouched_from(std::size_t at) const {
    for (std::size_t i = 0; i < kGuardBytes; ++i) {
      if (memory_[i] != kGuard) return false;
    }
    for (std::size_t i = kGuardBytes + at; i < memory_.size(); ++i) {
      if (memory_[i] != kGuard) return false;
    }
    return true;
  }

  static constexpr std::byte kGuard{0xa5};

 private:
  static constexpr std::size_t kGuardBytes = 64;
  std::vector<std::byte> memory_;
};

/// The buffer has the contents of `seed` in its first bytes and nothing behind.
#define CHECK_CONTENTS(buffer, bytes, seed)                                  \
  do {                                                                       \
    CHECK_EQUAL(::mpi_check::first_difference(                               \
                    (buffer).data(), static_cast<std::size_t>(bytes), seed), \
                static_cast<std::size_t>(bytes));                            \
    CHECK((buffer).is_untouched_from(static_cast<std::size_t>(bytes)));      \
  } while (false)

/// Source, tag and bytes of a status.
#define CHECK_STATUS(status, source, tag, bytes)                         \
  do {                                                                   \
    CHECK_EQUAL((status).MPI_SOURCE, source);                            \
    CHECK_EQUAL((status).MPI_TAG, tag);                                  \
    CHECK_EQUAL(::mpi_check::bytes_of(status), static_cast<int>(bytes)); \
  } while (false)

inline int bytes_of(const MPI_Status& status) {
  int bytes = -1;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  return bytes;
}

/// Sizes around the limits where MPI libraries change their protocol.
inline constexpr int kSizes[] = {
    0,    1,    31,   32,    33,    256,    1025,          4095,   4096,
    4097, 8192, 8193, 65535, 65537, 300000, (1 << 20) + 3, 5 << 20};

/// The sizes that one step of an exchange uses. With many ranks only some
/// pairs exchange large messages, or two CPUs would take minutes.
inline std::vector<int> sizes_of(int step) {
  const bool has_large = world_size <= 3 || step <= 1 ||
                         (world_size <= 8 && step == world_size / 2);
  std::vector<int> sizes;
  for (const int size : kSizes) {
    if (size <= 65537 || has_large) sizes.push_back(size);
  }
  return sizes;
}

}  // namespace mpi_check
