// A transfer that ends when the time limit of its wait has passed, and before
// QMP_wait has returned: its own result counts. The build sets a time limit so
// short that each wait looks once. docs/qmp.md, "States".
#include <dlfcn.h>

#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "acp.h"
#include "qmp_case.h"

using nodes::me;

namespace {

/// Called by the next wait of this thread whose time is over, before the wait
/// returns.
thread_local std::function<void()> t_when_over;

/// A message of this node to itself, whose send starts when the time of the
/// wait for its receive is over. Returns the result of that wait.
QMP_status_t wait_too_short(const Message& send, const Message& receive) {
  receive.start();
  t_when_over = [&send, &receive] {
    send.start();
    while (QMP_is_complete(receive.get()) == QMP_FALSE ||
           QMP_is_complete(send.get()) == QMP_FALSE) {
      std::this_thread::yield();
    }
  };
  const QMP_status_t status = QMP_wait(receive.get());
  EXPECT(t_when_over == nullptr);
  EXPECT_OK(QMP_wait(send.get()));
  return status;
}

}  // namespace

/// Replaces the function of libacp, for libqmp as well.
extern "C" [[gnu::visibility("default")]] int acpx_wait_until(
    int (*done)(void*), void* arg, int timeout_ms) {
  static const auto real = reinterpret_cast<decltype(&acpx_wait_until)>(
      ::dlsym(RTLD_NEXT, "acpx_wait_until"));
  const int result = real(done, arg, timeout_ms);
  if (result == 1 && t_when_over) {
    std::exchange(t_when_over, nullptr)();
  }
  return result;
}

SPMD_CASE(qmp_wait_late_failure,
          "QMP_wait: a transfer that fails at the limit reports its failure") {
  std::vector<std::byte> out(16);
  std::vector<std::byte> in(8);
  const Message send(Message::Way::kSend, out.data(), out.size(), me());
  const Message receive(Message::Way::kReceive, in.data(), in.size(), me());
  EXPECT_EQ(wait_too_short(send, receive), QMP_BAD_MESSAGE);
  EXPECT_EQ(QMP_get_error_number(receive.get()), QMP_BAD_MESSAGE);
  // The transfer is idle: the failure is not reported again.
  EXPECT_OK(QMP_wait(receive.get()));
}

SPMD_CASE(qmp_wait_late_success,
          "QMP_wait: a transfer that ends at the limit leaves no failure") {
  std::vector<std::byte> out(8, std::byte{5});
  std::vector<std::byte> in(8);
  const Message send(Message::Way::kSend, out.data(), out.size(), me());
  const Message receive(Message::Way::kReceive, in.data(), in.size(), me());
  // An older failure of this thread, which has nothing to do with the handle.
  EXPECT_EQ(QMP_start(nullptr), QMP_INVALID_ARG);
  EXPECT_OK(wait_too_short(send, receive));
  EXPECT_EQ(QMP_get_error_number(receive.get()), QMP_SUCCESS);
  EXPECT(in == out);
}

SPMD_CASE(qmp_wait_timeout, "QMP_wait: a transfer that does not end") {
  std::byte byte{};
  const Message send(Message::Way::kSend, &byte, 1, me());
  const Message receive(Message::Way::kReceive, &byte, 1, me());
  receive.start();
  EXPECT_EQ(QMP_wait(receive.get()), QMP_TIMEOUT);
  EXPECT_EQ(QMP_get_error_number(receive.get()), QMP_TIMEOUT);
  send.start();
  while (QMP_is_complete(receive.get()) == QMP_FALSE) {
    std::this_thread::yield();
  }
  EXPECT_OK(QMP_wait(receive.get()));
  EXPECT_OK(QMP_wait(send.get()));
}
