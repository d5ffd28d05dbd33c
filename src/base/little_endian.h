// Integers to and from little-endian bytes at any alignment.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace acp {

template <typename T>
constexpr T swap_unless_little(T value) noexcept {
  if constexpr (std::endian::native == std::endian::little || sizeof(T) == 1) {
    return value;
  } else if constexpr (sizeof(T) == 2) {
    return __builtin_bswap16(value);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bswap32(value);
  } else {
    return __builtin_bswap64(value);
  }
}

template <typename T>
T load_little(const std::byte* from) noexcept {
  T value;
  std::memcpy(&value, from, sizeof value);
  return swap_unless_little(value);
}

template <typename T>
void store_little(std::byte* to, T value) noexcept {
  value = swap_unless_little(value);
  std::memcpy(to, &value, sizeof value);
}

}  // namespace acp
