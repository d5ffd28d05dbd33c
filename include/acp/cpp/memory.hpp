// Memory that other ranks reach: the program's own (registered), and the heaps
// of all ranks (allocated). Include <acp/acp.hpp>.
#ifndef ACP_CPP_MEMORY_HPP
#define ACP_CPP_MEMORY_HPP

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "acp/cpp/global_ptr.hpp"

namespace acp {
inline namespace face {

/// Memory of this process that all ranks can reach, from construction to
/// destruction. Destroy it after the last access of any rank, for example
/// behind acp::sync().
template <typename T>
class registered {
 public:
  registered() = default;

  /// Registers `n` new elements, each of which is T{}.
  ///
  /// @param n      elements, 1 or more
  /// @param color  network path, 0 .. job::colors() - 1
  /// Throws ACPX_INVALID_ARGUMENT (0 elements), ACPX_BAD_COLOR, ACPX_NO_KEYS,
  /// ACPX_TOO_LARGE, ACPX_NO_MEMORY.
  explicit registered(std::size_t n, int color = 0)
      : owned_(std::make_unique<T[]>(n)), span_(owned_.get(), n) {
    open(color);
  }

  /// Registers elements that the caller owns, and keeps until after this
  /// object's end.
  explicit registered(std::span<T> elements, int color = 0) : span_(elements) {
    open(color);
  }

  registered(registered&& other) noexcept { swap(other); }

  registered& operator=(registered&& other) noexcept {
    registered(std::move(other)).swap(*this);
    return *this;
  }

  ~registered() {
    if (key_ != ACP_ATKEY_NULL && detail::is_current(epoch_)) {
      acp_unregister_memory(key_);
    }
  }

  /// The address of the first element, for any rank. Does not block.
  global_ptr<T> ptr() const { return global_ptr<T>(ga_); }

  /// The key of the region, for functions of C.
  acp_atkey_t key() const { return key_; }

  std::span<T> span() const { return span_; }

  T* data() const { return span_.data(); }

  std::size_t size() const { return span_.size(); }

  T& operator[](std::size_t i) const { return span_[i]; }

  auto begin() const { return span_.begin(); }

  auto end() const { return span_.end(); }

 private:
  void open(int color) {
    detail::check_element<T>();
    epoch_ = detail::g_epoch.load(std::memory_order_relaxed);
    key_ = acp_register_memory(span_.data(), span_.size_bytes(), color);
    if (key_ == ACP_ATKEY_NULL) {
      detail::fail("acp_register_memory");
    }
    ga_ = acp_query_ga(key_, span_.data());
  }

  void swap(registered& other) noexcept {
    std::swap(owned_, other.owned_);
    std::swap(span_, other.span_);
    std::swap(key_, other.key_);
    std::swap(ga_, other.ga_);
    std::swap(epoch_, other.epoch_);
  }

  std::unique_ptr<T[]> owned_;  ///< Null: the caller owns the elements.
  std::span<T> span_;
  acp_atkey_t key_ = ACP_ATKEY_NULL;
  acp_ga_t ga_ = ACP_GA_NULL;
  unsigned epoch_ = 0;
};

/// Elements in the heap of a rank (ACP_HEAP_SIZE), which need no registration.
/// Their bytes are not cleared.
template <typename T>
class allocated {
 public:
  allocated() = default;

  /// @param n     elements; 0 gives a block of its own, too
  /// @param rank  whose heap, 0 .. acp::ranks() - 1
  /// Throws ACPX_BAD_RANK, ACPX_TOO_LARGE, ACPX_NO_MEMORY.
  explicit allocated(std::size_t n, int rank = acp_rank())
      : block_(n * sizeof(T), rank), size_(n) {
    detail::check_element<T>();
  }

  allocated(allocated&& other) noexcept
      : block_(std::move(other.block_)), size_(std::exchange(other.size_, 0)) {}

  allocated& operator=(allocated&& other) noexcept {
    block_ = std::move(other.block_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  global_ptr<T> ptr() const { return global_ptr<T>(block_.ga()); }

  std::size_t size() const { return size_; }

  /// The elements, where this process reaches them directly: on its own rank,
  /// and mostly on ranks of its host. Empty elsewhere.
  std::span<T> span() const {
    T* first = ptr().local();
    return first == nullptr ? std::span<T>() : std::span<T>(first, size_);
  }

 private:
  detail::heap_block block_;
  std::size_t size_ = 0;
};

/// The starter memory of a rank as elements, zero at first.
template <typename T>
global_ptr<T> starter(int rank) {
  detail::check_element<T>();
  const acp_ga_t ga = acp_query_starter_ga(rank);
  if (ga == ACP_GA_NULL) {
    detail::fail("acp_query_starter_ga");
  }
  return global_ptr<T>(ga);
}

}  // namespace face
}  // namespace acp

#endif  // ACP_CPP_MEMORY_HPP
