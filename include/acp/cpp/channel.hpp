// Channels: messages in one direction between two ranks, in order. Include
// <acp/acp.hpp>. acp/channel.h has the rules and the errors.
#ifndef ACP_CPP_CHANNEL_HPP
#define ACP_CPP_CHANNEL_HPP

#include <cstddef>
#include <exception>
#include <iterator>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "acp/cpp/landing.hpp"

namespace acp {
inline namespace face {

/// A send or a receive under way. Its buffer is the library's until wait().
class request {
 public:
  request() = default;

  explicit request(acp_request_t made)
      : request_(made),
        epoch_(detail::g_epoch.load(std::memory_order_relaxed)) {
    if (made == nullptr) {
      detail::fail("acp_nbsend_ch or acp_nbrecv_ch");
    }
  }

  request(request&& other) noexcept
      : request_(std::exchange(other.request_, nullptr)),
        epoch_(other.epoch_) {}

  request& operator=(request&& other) noexcept {
    std::swap(request_, other.request_);
    std::swap(epoch_, other.epoch_);
    return *this;
  }

  /// Waits, because the buffer may end after this object. A failure is lost.
  ~request() {
    if (request_ != nullptr && detail::is_current(epoch_)) {
      acp_wait_ch(request_);
    }
  }

  /// Blocks until the buffer may be used again. Returns the bytes received, 0
  /// of a send, and none if the sender has closed the channel instead.
  std::optional<std::size_t> wait() {
    const std::size_t bytes = acp_wait_ch(std::exchange(request_, nullptr));
    if (bytes != static_cast<std::size_t>(-1)) {
      return bytes;
    }
    if (acp_errno != ACPX_CLOSED) {
      detail::fail("acp_wait_ch");
    }
    return std::nullopt;
  }

 private:
  acp_request_t request_ = nullptr;
  unsigned epoch_ = 0;
};

/// This rank's end of a channel of elements. The n-th end of the sender belongs
/// to the n-th of the receiver. One thread at a time sends, and one receives.
template <typename T>
class channel {
 public:
  class iterator;

  /// No channel.
  channel() = default;

  /// Creates the end that this rank has; the other rank creates its own. Does
  /// not block. Throws ACPX_BAD_RANK, ACPX_INVALID_ARGUMENT, ACPX_NO_MEMORY.
  channel(int sender, int receiver)
      : ch_(acp_create_ch(sender, receiver)),
        epoch_(detail::g_epoch.load(std::memory_order_relaxed)) {
    detail::check_element<T>();
    if (ch_ == nullptr) {
      detail::fail("acp_create_ch");
    }
  }

  channel(channel&& other) noexcept
      : ch_(std::exchange(other.ch_, nullptr)), epoch_(other.epoch_) {}

  channel& operator=(channel&& other) noexcept {
    std::swap(ch_, other.ch_);
    std::swap(epoch_, other.epoch_);
    return *this;
  }

  /// Frees the end, as close() does. While an exception leaves the block, it
  /// does not wait for the other rank.
  ~channel() {
    if (ch_ == nullptr || !detail::is_current(epoch_)) {
      return;
    }
    if (std::uncaught_exceptions() > 0) {
      acp_nbfree_ch(ch_);
    } else {
      acp_free_ch(ch_);
    }
  }

  /// Sends an element, and returns when `value` may change. It need not have
  /// arrived.
  void send(const T& value) { async_send({&value, 1}).wait(); }

  /// Sends elements as one message.
  void send(std::span<const T> values) { async_send(values).wait(); }

  /// Starts to send elements as one message; they stay until wait().
  request async_send(std::span<const T> values) {
    // acp_nbsend_ch only reads the buffer, though its parameter is not const.
    return request(
        acp_nbsend_ch(ch_, const_cast<T*>(values.data()), values.size_bytes()));
  }

  /// Waits for a message of one element. None: the sender has closed the
  /// channel. Throws ACPX_INVALID_ARGUMENT for a message of another size.
  std::optional<T> receive() {
    std::optional<T> value;
    alignas(T) std::byte memory[sizeof(T)];
    const auto bytes =
        request(acp_nbrecv_ch(ch_, memory, sizeof memory)).wait();
    if (bytes.has_value()) {
      if (*bytes != sizeof(T)) {
        detail::fail("acp::channel::receive, another size",
                     ACPX_INVALID_ARGUMENT);
      }
      value = detail::load<T>(memory);
    }
    return value;
  }

  /// Waits for a message. Returns its elements, at most those of `room`; none
  /// if the sender has closed the channel.
  std::optional<std::size_t> receive(std::span<T> room) {
    const auto bytes = async_receive(room).wait();
    return bytes.has_value() ? std::optional(*bytes / sizeof(T)) : bytes;
  }

  /// Starts to receive a message. wait() returns bytes.
  request async_receive(std::span<T> room) {
    return request(acp_nbrecv_ch(ch_, room.data(), room.size_bytes()));
  }

  /// Frees the end, and waits until the messages that were sent are on their
  /// way. A receiver then gets none when it has received them.
  void close() {
    if (acp_free_ch(std::exchange(ch_, nullptr)) != 0) {
      detail::fail("acp_free_ch");
    }
  }

  /// Messages of one element, until the sender closes the channel.
  iterator begin() { return iterator(*this); }

  std::default_sentinel_t end() const { return {}; }

 private:
  acp_ch_t ch_ = nullptr;
  unsigned epoch_ = 0;
};

/// Receives one message ahead.
template <typename T>
class channel<T>::iterator {
 public:
  using iterator_concept = std::input_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;

  iterator() = default;

  explicit iterator(channel& from) : from_(&from), value_(from.receive()) {}

  const T& operator*() const { return *value_; }

  iterator& operator++() {
    value_ = from_->receive();
    return *this;
  }

  void operator++(int) { ++*this; }

  friend bool operator==(const iterator& it, std::default_sentinel_t) {
    return !it.value_.has_value();
  }

 private:
  channel* from_ = nullptr;
  std::optional<T> value_;
};

}  // namespace face
}  // namespace acp

#endif  // ACP_CPP_CHANNEL_HPP
