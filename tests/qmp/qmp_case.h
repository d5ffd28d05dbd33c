// Test programs of QMP that run as nodes of a job: support/spmd.h, joined by
// QMP_init_msg_passing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "qmp.h"
#include "support/spmd.h"

/// Checks that a call returns QMP_SUCCESS; prints the text of QMP otherwise.
#define EXPECT_OK(call)                                       \
  do {                                                        \
    const QMP_status_t expected_ok = (call);                  \
    if (expected_ok != QMP_SUCCESS) {                         \
      spmd::fail("EXPECT_OK(" #call "): " +                   \
                 std::string(QMP_error_string(expected_ok))); \
    }                                                         \
  } while (false)

/// Checks that a call returns NULL, and that the error of the thread is
/// `status`.
#define EXPECT_NULL(call, status)                     \
  do {                                                \
    EXPECT((call) == nullptr);                        \
    EXPECT_EQ(QMP_get_error_number(nullptr), status); \
  } while (false)

namespace nodes {

inline int me() {
  return QMP_get_node_number();
}

inline int count() {
  return QMP_get_number_of_nodes();
}

inline int right() {
  return (me() + 1) % count();
}

inline int left() {
  return (me() + count() - 1) % count();
}

/// Byte `i` of the message of `from` in round `round`.
inline std::byte pattern(int from, std::size_t round, std::size_t i) {
  return static_cast<std::byte>(static_cast<std::size_t>(from) * 31 +
                                round * 7 + i + i / 251);
}

inline void fill(std::vector<std::byte>& bytes, int from, std::size_t round) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = pattern(from, round, i);
  }
}

/// Checks the first `size` bytes of a message.
inline void check(const std::vector<std::byte>& bytes,
                  std::size_t size,
                  int from,
                  std::size_t round) {
  for (std::size_t i = 0; i < size; ++i) {
    if (bytes[i] != pattern(from, round, i)) {
      spmd::fail("byte " + std::to_string(i) + " of " + std::to_string(size) +
                 " from node " + std::to_string(from) + ", round " +
                 std::to_string(round) + ", is " +
                 std::to_string(std::to_integer<int>(bytes[i])) + ", not " +
                 std::to_string(std::to_integer<int>(pattern(from, round, i))));
    }
  }
}

}  // namespace nodes

/// A handle that is freed together with its memory, for cases that do not test
/// that.
class Message {
 public:
  enum class Way { kSend, kReceive };

  Message(Way way, void* data, std::size_t bytes, int node)
      : memory_(QMP_declare_msgmem(data, bytes)),
        handle_(way == Way::kSend
                    ? QMP_declare_send_to(memory_, node, 0)
                    : QMP_declare_receive_from(memory_, node, 0)) {
    EXPECT(handle_ != nullptr);
  }

  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  ~Message() {
    QMP_free_msghandle(handle_);
    QMP_free_msgmem(memory_);
  }

  QMP_msghandle_t get() const { return handle_; }

  void start() const { EXPECT_OK(QMP_start(handle_)); }

  void wait() const { EXPECT_OK(QMP_wait(handle_)); }

 private:
  QMP_msgmem_t memory_;
  QMP_msghandle_t handle_;
};
