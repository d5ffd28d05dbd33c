// Messages that wait until a pipe has room for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace acp::launcher {

/// One encoded message, which several queues may share.
using SharedBytes = std::shared_ptr<const std::string>;

/// Used by the thread of an event loop, which alone touches all fields.
class WriteQueue {
 public:
  enum class Outcome : std::uint8_t {
    kAllWritten,
    kFull,    ///< The pipe takes no more now. Call again when it does.
    kBroken,  ///< The pipe takes nothing any more.
  };

  /// Adds the newest message.
  void push(SharedBytes message) {
    messages_.push_back(entry_of(std::move(message)));
  }

  /// Adds a message in front of all others. Precondition: write_to() was not
  /// called.
  void push_first(SharedBytes message) {
    messages_.push_front(entry_of(std::move(message)));
  }

  /// Adds bytes in front of all others, which are written from where they lie:
  /// a secret has no copy here. Precondition: write_to() was not called.
  void push_first(std::shared_ptr<const void> owner, std::string_view bytes) {
    messages_.push_front({std::move(owner), bytes});
  }

  std::size_t size() const noexcept { return messages_.size(); }

  /// Writes to a descriptor that does not block, oldest message first.
  Outcome write_to(int pipe);

  /// Drops all messages.
  void clear();

 private:
  struct Entry {
    std::shared_ptr<const void> owner;  ///< Keeps the bytes.
    std::string_view bytes;
  };

  static Entry entry_of(SharedBytes message) {
    const std::string_view bytes = *message;
    return {std::move(message), bytes};
  }

  std::deque<Entry> messages_;  ///< Oldest first.
  /// Bytes of the first message that write_to() has written.
  std::size_t written_ = 0;
};

}  // namespace acp::launcher
