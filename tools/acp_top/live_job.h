// A running job, seen through the socket of its acprun; and the search for the
// jobs of this user on this host.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "protocol/job_view.h"
#include "protocol/view_socket.h"

namespace acp::top {

/// The connection to one acprun. Move-only; used by one thread.
class LiveJob {
 public:
  explicit LiveJob(protocol::ViewConnection connection)
      : connection_(std::move(connection)) {}

  int fd() const noexcept { return connection_.socket.get(); }

  std::uint32_t pid() const noexcept { return connection_.pid; }

  /// Sends a request. The answer of the one before must be there.
  void ask(protocol::ViewRequest request);

  /// Takes the bytes that have arrived. Returns the newest whole view; nullopt:
  /// none yet, or is_over().
  std::optional<protocol::JobView> receive();

  /// receive() until a view is there; nullopt: is_over(), or the time is up.
  std::optional<protocol::JobView> wait(std::chrono::milliseconds limit);

  /// acprun has ended, or has sent bytes that make no sense. Nothing comes any
  /// more.
  bool is_over() const noexcept { return is_over_; }

  /// Why there are no more views; "" when the job has ended.
  const std::string& error() const noexcept { return error_; }

 private:
  void read_some();
  void fail(std::string error);

  protocol::ViewConnection connection_;
  std::string bytes_;  ///< Come, and not taken yet.
  bool is_over_ = false;
  std::string error_;
};

/// The text with which acp_top ends, because there is no job to show.
struct NoJob {
  std::string text;
};

/// The job to show: that of acprun `pid`, or for 0 the only job. Waits two
/// seconds at most for answers.
std::variant<LiveJob, NoJob> find_job(std::uint32_t pid,
                                      std::span<const std::string> folders);

}  // namespace acp::top
