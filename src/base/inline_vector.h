// A short list that allocates nothing.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <type_traits>

#include "base/assert.h"

namespace acp {

/// Holds up to N elements inside the object. Each element is constructed when
/// it is added; an array would construct all N at first. Used by one thread.
template <typename T, std::size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // NOLINTNEXTLINE(*-member-init): the storage stays uninitialized
  InlineVector() = default;
  InlineVector(const InlineVector&) = delete;
  InlineVector& operator=(const InlineVector&) = delete;

  /// Precondition: the list has fewer than N elements.
  T& push_back(const T& value) noexcept {
    ACP_ASSERT(size_ < N);
    return *std::construct_at(data() + size_++, value);
  }

  T* data() noexcept { return reinterpret_cast<T*>(storage_.data()); }

  const T* data() const noexcept {
    return reinterpret_cast<const T*>(storage_.data());
  }

  std::size_t size() const noexcept { return size_; }

  T* begin() noexcept { return data(); }

  T* end() noexcept { return data() + size_; }

  const T* begin() const noexcept { return data(); }

  const T* end() const noexcept { return data() + size_; }

  T& operator[](std::size_t index) noexcept { return data()[index]; }

 private:
  alignas(T) std::array<std::byte, N * sizeof(T)> storage_;
  std::size_t size_ = 0;
};

}  // namespace acp
