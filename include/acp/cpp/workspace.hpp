// Workspaces: memory of all ranks together, read and written at offsets.
// Include <acp/acp.hpp>. acp/workspace.h has the rules and the errors.
#ifndef ACP_CPP_WORKSPACE_HPP
#define ACP_CPP_WORKSPACE_HPP

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

#include "acp/cpp/global_ptr.hpp"

namespace acp {
inline namespace face {

/// Bytes of all ranks together. Making and destroying one is collective.
class workspace {
 public:
  /// No workspace.
  workspace() = default;

  /// Creates one of `bytes` bytes, which are undefined. Collective; blocks.
  /// Throws ACPX_INVALID_ARGUMENT (0, or ranks differ), ACPX_NO_MEMORY.
  explicit workspace(std::size_t bytes)
      : ws_(acp_create_ws(bytes)),
        epoch_(detail::g_epoch.load(std::memory_order_relaxed)) {
    if (ws_ == none()) {
      detail::fail("acp_create_ws");
    }
  }

  workspace(workspace&& other) noexcept
      : ws_(std::exchange(other.ws_, none())), epoch_(other.epoch_) {}

  workspace& operator=(workspace&& other) noexcept {
    std::swap(ws_, other.ws_);
    std::swap(epoch_, other.epoch_);
    return *this;
  }

  /// Collective; blocks. While an exception leaves the block it does nothing,
  /// since the other ranks do not come.
  ~workspace() {
    if (ws_ != none() && std::uncaught_exceptions() == 0 &&
        detail::is_current(epoch_)) {
      acp_destroy_ws(ws_);
    }
  }

  /// Copies `n` elements from byte `offset` to memory of any rank, and waits.
  /// Throws ACPX_BAD_ADDRESS beyond the end.
  template <typename T>
  void read(std::size_t offset, global_ptr<T> to, std::size_t n) const {
    detail::check_element<T>();
    if (acp_read_ws(ws_, to.ga(), n * sizeof(T), offset) != 0) {
      detail::fail("acp_read_ws");
    }
  }

  /// Copies `n` elements from memory of any rank to byte `offset`, and waits.
  template <typename T>
  void write(std::size_t offset, global_ptr<T> from, std::size_t n) {
    detail::check_element<T>();
    if (acp_write_ws(ws_, from.ga(), n * sizeof(T), offset) != 0) {
      detail::fail("acp_write_ws");
    }
  }

  /// The element at byte `offset`.
  template <typename T>
  T get(std::size_t offset) const {
    detail::check_value<T>();
    const detail::landing& place = detail::land();
    read(offset, global_ptr<T>(place.ga), 1);
    return detail::load<T>(place.memory);
  }

  template <typename T>
  void put(std::size_t offset, const T& value) {
    detail::check_value<T>();
    const detail::landing& place = detail::land();
    detail::store(place, 0, value);
    write(offset, global_ptr<T>(place.ga), 1);
  }

  /// The workspace of C, one value on all ranks.
  acp_wsd_t handle() const { return ws_; }

 private:
  /// ACP_WSD_NULL, without its cast of C.
  static acp_wsd_t none() {
    return reinterpret_cast<acp_wsd_t>(std::intptr_t{-1});
  }

  acp_wsd_t ws_ = none();
  unsigned epoch_ = 0;
};

}  // namespace face
}  // namespace acp

#endif  // ACP_CPP_WORKSPACE_HPP
