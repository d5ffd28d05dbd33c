// The socket to a launcher that speaks PMI-1 or PMI-2.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "runtime/pmi_message.h"
#include "runtime/wait_limit.h"
#include "status/result.h"

namespace acp::runtime {

/// How long the launcher may take for its answer.
enum class PmiAnswer : std::uint8_t {
  kAtOnce,  ///< The launcher answers by itself.
  kFence    ///< The launcher answers when every rank has asked.
};

/// A request is one message and has one answer. An MPI library in the same
/// process may use the same socket between two requests.
///
/// Two threads may wait for answers, one of them for that of a fence.
/// Invariants:
///   1. At most one request of each kind of PmiAnswer is under way.
///   2. One thread reads the socket. It leaves the answer of the other kind in
///      answers_.
///   3. A thread that stops reading wakes the other one, which reads then.
class PmiConnection {
 public:
  explicit PmiConnection(UniqueFd socket);

  /// Sends the request and returns the answer, whose command has to be
  /// `expected`; the answer may be a refusal. kProtocol and kSystem, logged;
  /// kTimedOut and kAborted, not logged: the limit. Any thread for kAtOnce, one
  /// at a time for kFence. All limits of requests at one time have the same
  /// end_fd.
  Result<PmiMessage> request(PmiDialect dialect,
                             const PmiMessage& message,
                             std::string_view expected,
                             const WaitLimit& limit,
                             PmiAnswer kind = PmiAnswer::kAtOnce);

  /// Sends a message that has no answer. Any thread.
  bool send(PmiDialect dialect, const PmiMessage& message);

  /// Returns when the launcher has closed the connection or is gone, or at the
  /// deadline. Takes no bytes. Any thread.
  void wait_for_close(TimePoint deadline) const;

  DeathWatch death_watch() const noexcept;

 private:
  Result<std::string> ask(PmiDialect dialect,
                          const PmiMessage& message,
                          std::string_view expected,
                          const WaitLimit& limit,
                          PmiAnswer kind);
  Result<std::string> wait_for_answer(PmiDialect dialect,
                                      PmiAnswer kind,
                                      const WaitLimit& limit);
  void deliver(PmiDialect dialect, std::string text);
  Result<std::string> receive(PmiDialect dialect, const WaitLimit& limit);
  Status fill(const WaitLimit& limit);
  std::string take(std::size_t bytes);

  UniqueFd socket_;
  UniqueFd launcher_;  ///< Readable when the launcher is gone; may be empty.
  std::mutex send_mutex_;  ///< Keeps the bytes of a message together.
  std::string received_;   ///< Bytes that no answer has used yet. The thread's
                           ///< that reads.
  std::mutex at_once_mutex_;  ///< One request of PmiAnswer::kAtOnce.

  std::mutex mutex_;                 ///< Guards all fields below.
  std::condition_variable changed_;  ///< Some field below has changed.
  bool is_reading_ = false;          ///< A thread is in receive().
  /// By PmiAnswer: the command of the answer that a thread waits for, or "".
  std::array<std::string, 2> expected_;
  /// By PmiAnswer: an answer that its thread has not taken yet.
  std::array<std::optional<std::string>, 2> answers_;
};

/// The socket that the launcher has named in the variable PMI_FD: a copy that
/// children of this process do not get. kUnsupported (no PMI_FD) and kProtocol,
/// logged.
Result<UniqueFd> open_pmi_socket();

}  // namespace acp::runtime
