// Lifelines between the hosts of a job under other launchers than acprun: a TCP
// connection from the leader of each host to rank 0. Nothing but the end of a
// connection carries a meaning.
//
//   leader of host 1 ──┐
//   leader of host 2 ──┼── rank 0
//   leader of host 3 ──┘
//
// Some launchers do not end the ranks of other hosts when a rank has died. A
// leader's own death follows the death of any rank of its host within seconds
// (HostWatch), and so the death of any rank reaches all hosts.
#pragma once

#include <poll.h>

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "runtime/wait_limit.h"

namespace acp::runtime {

/// A random number of the job. It keeps strangers out; whoever knows it can do
/// no more than end the job.
using LinkKey = std::array<std::uint8_t, 16>;

/// Thread-safe after open() or connect().
class HostLinks {
 public:
  /// Rank 0: listens on a port of the system's choice. kSystem, logged.
  [[nodiscard]] Status open(const LinkKey& key);

  /// The port that rank 0 listens on, after open().
  std::uint16_t port() const noexcept { return port_; }

  /// Other leaders: connects to rank 0 at a numeric address. False, logged as a
  /// warning: a firewall is between the hosts, for example. Then only the
  /// launcher and the transports notice the death of a host.
  bool connect(const std::string& address,
               std::uint16_t port,
               const LinkKey& key,
               std::uint32_t my_rank,
               const WaitLimit& limit);

  /// Appends the descriptors to poll.
  void add_to(std::vector<pollfd>& ready) const;

  /// Takes what has come in. Returns the leader whose host is gone, if one is.
  std::optional<std::uint32_t> look();

  /// From here on the end of a connection means nothing, on both sides.
  void say_goodbye();

 private:
  struct Link {
    UniqueFd socket;
    std::uint32_t rank = 0;   ///< The leader at the other end.
    bool is_known = false;    ///< It has sent the key.
    bool is_leaving = false;  ///< It has said goodbye.
  };

  void accept_all();
  bool read_from(Link& link);

  mutable std::mutex mutex_;  ///< Guards all fields.
  UniqueFd listener_;
  std::uint16_t port_ = 0;
  LinkKey key_{};
  std::vector<Link> links_;
  bool has_left_ = false;  ///< say_goodbye() was called.
};

}  // namespace acp::runtime
