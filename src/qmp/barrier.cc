// QMP_barrier: acp_sync for the whole job, a reduction of 0 bytes for other
// communicators. Called by global_api.cc. It waits, so no lock may be held.
#include <algorithm>
#include <string>
#include <vector>

#include "acp.h"
#include "acp/extension.h"
#include "qmp/collective.h"
#include "qmp/failure.h"
#include "qmp/operation.h"

namespace qmp {

namespace {

/// The first interval of a barrier, and the longest: a node that waits in
/// another operation is noticed so much later at most.
constexpr int kFirstPauseMs = 20;
constexpr int kLongestPauseMs = 1000;

/// Nodes that one line names at most.
constexpr std::size_t kNamed = 4;

/// The nodes that have not begun this barrier, as texts.
std::vector<std::string> missing(Job& job) {
  Presences& presences = job.exchange.presences();
  std::vector<std::string> found;
  for (int rank = 0; rank < acp_procs(); ++rank) {
    const std::optional<Presence> presence = presences.read(rank);
    // A node that leaves takes part in this barrier by the acp_sync of its end.
    if (!presence || (presence->barriers < job.barriers &&
                      !has_reached(*presence, Stage::kLeft))) {
      found.push_back("node " + std::to_string(rank) + " (" +
                      describe(rank, presence) + ")");
    }
  }
  return found;
}

void say_whom(Job& job, const char* function) {
  const std::vector<std::string> nodes = missing(job);
  std::string names;
  for (std::size_t i = 0; i < nodes.size() && i < kNamed; ++i) {
    names += (i == 0 ? "" : ", ") + nodes[i];
  }
  if (nodes.size() > kNamed) {
    names += ", and " + std::to_string(nodes.size() - kNamed) + " more";
  }
  (void)QMP_error(
      "%s has waited %g s for %s: have they called it? It waits on "
      "(QMP_WAIT_TIMEOUT)",
      function, job.wait_timeout_ms / 1000.0,
      names.empty() ? "nodes that come now" : names.c_str());
}

/// A node that leaves takes part in barriers by the two acp_sync of its end, so
/// the barrier ends. The next rank notices (Connector::leave), fails, and tells
/// all others by revoking the communicator of the whole job.
QMP_status_t check_nobody_left(Job& job, const char* function) {
  if (!job.exchange.has_left_before(job.barriers)) {
    return QMP_SUCCESS;
  }
  const int left = (acp_rank() + acp_procs() - 1) % acp_procs();
  QMP_comm_struct& world = *job.world;
  job.exchange.revoke(
      *world.revocation,
      {world.operations + 1, left, QMP_ERROR, Cause::kLeft, {}});
  return fail(QMP_ERROR,
              "%s: rank %d has left by exit(0) or "
              "QMP_finalize_msg_passing: all nodes have to call it",
              function, left);
}

/// Waits in acp_sync, in intervals that double up to a second. Between two of
/// them it looks whether another node waits for this one in another global
/// operation; so that node and this one fail, instead of waiting for each
/// other. A failed call leaves the acp_sync begun, and the next barrier here
/// goes on with it.
QMP_status_t wait_for_all(Job& job,
                          Operation& operation,
                          const char* function) {
  const double limit_ms = job.wait_timeout_ms;
  bool has_said = limit_ms < 0;
  double waited_ms = 0;
  double start = 0;  // Read after the first interval: most waits end in it.
  for (int pause_ms = kFirstPauseMs;;
       pause_ms = std::min(2 * pause_ms, kLongestPauseMs)) {
    const double left_ms = std::max(limit_ms - waited_ms, 1.0);
    const int result = acpx_sync_timeout(
        has_said || left_ms > pause_ms ? pause_ms : static_cast<int>(left_ms));
    if (result <= 0) {
      return result == 0 ? check_nobody_left(job, function)
                         : fail(QMP_ERROR, "%s has failed: %s", function,
                                acpx_strerror(acp_errno));
    }
    if (start == 0) {
      start = QMP_time() - std::min<double>(pause_ms, left_ms) / 1000;
    }
    waited_ms = (QMP_time() - start) * 1000;
    const QMP_status_t status = operation.look_for_another();
    if (status != QMP_SUCCESS) {
      return status;
    }
    if (!has_said && waited_ms >= limit_ms) {
      has_said = true;
      say_whom(job, function);
    }
  }
}

}  // namespace

/// The barrier of the whole job has a number among the global operations, as
/// all others, though it sends no messages.
QMP_status_t barrier(Job& job, QMP_comm_struct& comm, const char* function) {
  if (&comm != job.world.get()) {
    return meet(job, comm, function);
  }
  Operation operation(job, comm, function, kJobBarrier, 0);
  job.exchange.presences().begin_barrier(++job.barriers);
  const char* before = acpx_enter_call(function);
  const QMP_status_t status = wait_for_all(job, operation, function);
  acpx_leave_call(before);
  if (status == QMP_BAD_MESSAGE) {
    job.exchange.presences().begin_barrier(--job.barriers);
  }
  return status;
}

}  // namespace qmp
