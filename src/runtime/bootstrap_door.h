// Where the ranks of a host meet when another launcher than acprun has started
// them. It is a socket that the host's leader opens. The other ranks get its
// name through the launcher's key-value space.
//
//   rank                                       leader
//    |-- connect, Hello (rank, its cores) -------->|   the user has to be equal
//    |<------------- Welcome (the host segment) ---|   when all have said Hello
//
// The connections stay open as lifelines (host_watch.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/host_facts.h"
#include "base/unique_fd.h"
#include "runtime/job_record.h"
#include "runtime/wait_limit.h"
#include "status/result.h"

namespace acp::runtime {

/// Another rank of the host, connected. Move-only.
struct HostPeer {
  std::uint32_t rank = 0;
  pid_t process = 0;
  UniqueFd socket;  ///< Carries bootstrap messages.
  UniqueFd life;    ///< watch_process(); may be empty.
  CpuMask cpus;     ///< Cores that it may use. Leader only.
};

/// The leader's side. Used by one thread.
class Door {
 public:
  /// Opens a socket with a random abstract name, which has no file and goes
  /// with the last descriptor. kSystem, logged.
  static Result<Door> open();

  const std::string& name() const noexcept { return name_; }

  /// Lets in these ranks, one connection each, and returns them in this order.
  /// Everybody else is turned away. kTimedOut, kAborted, kSystem, logged.
  Result<std::vector<HostPeer>> gather(std::span<const std::uint32_t> ranks,
                                       const WaitLimit& limit);

 private:
  UniqueFd socket_;
  std::string name_;
};

/// The other ranks' side.
struct Admission {
  HostPeer leader;
  UniqueFd memory;  ///< The host segment.
};

/// Says Hello as `rank` to the leader whose record this is, and waits for the
/// Welcome. kTimedOut, kAborted, kProtocol, kSystem, logged.
Result<Admission> enter_door(const HostRecord& host,
                             std::uint32_t leader,
                             std::uint32_t rank,
                             const WaitLimit& limit);

/// The leader's answer, with the descriptor of the host segment. kAborted,
/// logged: the rank is gone.
[[nodiscard]] Status welcome(const HostPeer& peer, int memory);

}  // namespace acp::runtime
