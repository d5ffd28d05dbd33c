// The socket to a launcher that speaks PMI-1 or PMI-2.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "runtime/pmi_message.h"
#include "runtime/wait_limit.h"

namespace acp::runtime {

/// A request is one message and has one answer. An MPI library in the same
/// process may use the same socket between two requests.
class PmiConnection {
 public:
  explicit PmiConnection(UniqueFd socket);

  /// Sends the request and returns the answer, whose command has to be
  /// `expected`; the answer may be a refusal. kProtocol and kSystem, logged;
  /// kTimedOut and kAborted, not logged: the limit. One thread at a time.
  Result<PmiMessage> request(PmiDialect dialect,
                             const PmiMessage& message,
                             std::string_view expected,
                             const WaitLimit& limit);

  /// Sends a message that has no answer. Any thread.
  bool send(PmiDialect dialect, const PmiMessage& message);

  /// Returns when the launcher has closed the connection or is gone, or at the
  /// deadline. Takes no bytes. Any thread.
  void wait_for_close(TimePoint deadline) const;

  DeathWatch death_watch() const noexcept;

 private:
  Result<std::string> receive(PmiDialect dialect, const WaitLimit& limit);
  Status fill(const WaitLimit& limit);
  std::string take(std::size_t bytes);

  UniqueFd socket_;
  UniqueFd launcher_;  ///< Readable when the launcher is gone; may be empty.
  std::mutex send_mutex_;  ///< Keeps the bytes of a message together.
  std::string received_;   ///< Bytes that no answer has used yet.
};

/// The socket that the launcher has named in the variable PMI_FD: a copy that
/// children of this process do not get. Fails with kProtocol, logged.
Result<UniqueFd> open_pmi_socket();

}  // namespace acp::runtime
