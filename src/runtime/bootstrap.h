// How a process learns its number and meets the other processes of its job. The
// interface has one implementation for each kind of launcher.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "protocol/bootstrap.h"
#include "protocol/host_segment.h"
#include "settings/settings.h"
#include "status/result.h"

namespace acp::runtime {

class ProcessManager;

/// Used by one thread at a time, unless a function says that any may call it.
class Bootstrap {
 public:
  Bootstrap() = default;
  Bootstrap(const Bootstrap&) = delete;
  Bootstrap& operator=(const Bootstrap&) = delete;
  virtual ~Bootstrap() = default;

  /// The provider: "acprun", "singleton", "pmi1", "pmi2", "pmix".
  virtual std::string_view name() const noexcept = 0;
  /// This process's number at launch.
  virtual std::uint32_t proc() const noexcept = 0;
  /// The memory of this host's ranks; valid as long as this.
  virtual const protocol::HostSegment& segment() const noexcept = 0;

  /// Returns when every process of the job has arrived at this phase.
  /// kAborted, logged, when the job ends instead.
  ///
  /// After kNetwork the segment of this host has the PublishedRecord of every
  /// process. After kInit it also has every address card that it has room for
  /// (CardTable). After kCollective it has the
  /// PublishedRecord of every process, as it was when that process arrived. The
  /// processes of this host write both into the segment before they arrive; the
  /// bootstrap carries those of the other hosts.
  [[nodiscard]] virtual Status arrive(protocol::Phase phase) = 0;

  /// The address card of a process of another host, after Phase::kInit, where
  /// the segment has no room for it (CardTable::kOfHost). Asks the launcher and
  /// blocks until it has answered. The bytes are 0 when that process has
  /// published none, and valid until the next call. Any thread may call it, one
  /// at a time, also while another thread is in arrive(). kAborted, logged: the
  /// job ends. kProtocol and kSystem, logged: the launcher gives no such
  /// address card, or its connection is gone. kUnsupported: all address cards
  /// are in the segment, or MPI reads the same connection, which is logged.
  virtual Result<std::span<const std::byte>> fetch_card(std::uint32_t) {
    return Status::kUnsupported;
  }

  /// Tells the ranks of other hosts in which call this rank is, by
  /// HostHeader::absences of their segments. Does not block. A job on one host
  /// needs no such message.
  virtual void tell_absence(const protocol::Absence&) {}

  /// Tells the launcher to end the job with this exit status; the caller ends
  /// itself afterwards. `why` does not name this rank: acprun does it, and the
  /// provider for launchers that do not. Returns false when the launcher cannot
  /// be told: then only the exit status of this process can tell it.
  virtual bool abort(int exit_status, std::string_view why) = 0;

  /// From here on this process may exit without ending the job.
  virtual void finalized() = 0;
};

/// Finds the launcher that started this process, unless ACP_BOOTSTRAP names
/// one, and joins its job. kUnsupported, logged, when several processes were
/// started without a provider; otherwise as the provider below.
Result<std::unique_ptr<Bootstrap>> find_bootstrap(const Settings& settings);

/// The provider for a process started by acprun: speaks over the inherited
/// socket, which from now on children of this process do not get.
Result<std::unique_ptr<Bootstrap>> connect_to_acprun(UniqueFd socket);

/// The provider for a process started by another launcher, which `manager` is
/// connected to. Meets the other ranks of the host, until `deadline`.
/// kTimedOut, kAborted, kProtocol, kSystem, kNoMemory, logged.
Result<std::unique_ptr<Bootstrap>> join_managed_job(
    std::unique_ptr<ProcessManager> manager,
    const Settings& settings,
    TimePoint deadline);

/// The provider for a process started by hand: rank 0 of 1.
Result<std::unique_ptr<Bootstrap>> be_singleton(const Settings& settings);

}  // namespace acp::runtime
