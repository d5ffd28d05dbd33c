// Waits and failures of global operations. Called by the rounds of a reduction,
// broadcast or handshake. No lock is held while it waits.
#include "qmp/operation.h"

#include <algorithm>

#include "acp.h"
#include "qmp/call_text.h"
#include "qmp/failure.h"

namespace qmp {

namespace {

/// A wait looks beyond its own message after this time, and then each time that
/// its length has doubled. So a job that stands still needs no processor.
constexpr int kFirstLookMs = 20;
constexpr int kLastLookMs = 1 << 29;

bool is_job_ending() {
  return acpx_wait_until([](void*) { return 0; }, nullptr, 0) < 0;
}

}  // namespace

struct Operation::Wait {
  Operation* operation = nullptr;
  int rank = 0;
  Condition has_come = nullptr;
  void* self = nullptr;
  bool has_failed = false;  ///< Waits for the parting only.
  const Presence* partner = nullptr;
  bool has_partner_left = false;
  End end = End::kCome;
};

bool Operation::is_revoked() const {
  return comm_.revocation->covers(call_.tag.number);
}

QMP_comm_struct::Lanes* Operation::lanes_to(int node) {
  QMP_comm_struct::Lanes& lanes = comm_.lanes[node];
  if (lanes.in == nullptr) {
    const auto peer =
        static_cast<std::uint32_t>(comm_.ranks[static_cast<std::size_t>(node)]);
    lanes.out = job_.exchange.half({comm_.number, kCollective, peer, false});
    lanes.in = job_.exchange.half({comm_.number, kCollective, peer, true});
    if (lanes.out == nullptr || lanes.in == nullptr) {
      comm_.lanes.erase(node);
      (void)fail_memory("a channel");
      return nullptr;
    }
  }
  return &lanes;
}

/// The condition of every wait: the message, or a reason why it will not come.
int Operation::is_over(void* wait) {
  auto& what = *static_cast<Wait*>(wait);
  const Operation& operation = *what.operation;
  // Comes before has_come: a node that has left has no message under way.
  what.has_partner_left |=
      what.partner != nullptr && has_reached(*what.partner, Stage::kLeft);
  if (what.has_come(what.self)) {
    what.end = End::kCome;
  } else if (!what.has_failed && operation.is_revoked()) {
    what.end = End::kRevoked;
  } else if (what.has_failed && operation.job_.exchange.has_parted(
                                    *operation.comm_.revocation, what.rank,
                                    operation.call_.tag.number)) {
    what.end = End::kParted;
  } else if (what.has_partner_left) {
    what.end = End::kLeft;
  } else {
    return 0;
  }
  return 1;
}

/// Waits in intervals that double. Between two of them it reads the presence of
/// a partner on another host. It also tells the partner for which operation it
/// waits, and looks for calls that do not agree.
Operation::End Operation::wait_in(Wait& wait) {
  Presences& presences = job_.exchange.presences();
  wait.partner = presences.mapped(wait.rank);
  const double start = QMP_time();
  const double limit = job_.wait_timeout_ms / 1000.0;
  for (int look_ms = kFirstLookMs;;
       look_ms = std::min(2 * look_ms, kLastLookMs)) {
    const double left = limit - (QMP_time() - start);
    if (limit >= 0 && !has_said_ && left <= 0) {
      say_whom(wait.rank, limit);
    }
    const bool says_first = limit >= 0 && !has_said_ && left * 1000 < look_ms;
    const char* before = acpx_enter_call(function_);
    const int result = acpx_wait_until(
        &is_over, &wait,
        says_first ? static_cast<int>(left * 1000) + 1 : look_ms);
    acpx_leave_call(before);
    if (result <= 0) {
      return result == 0 ? wait.end : End::kJobEnds;
    }
    if (wait.partner == nullptr) {
      const auto answer = presences.read(wait.rank);
      wait.has_partner_left = answer && has_reached(*answer, Stage::kLeft);
    }
    if (!wait.has_failed) {
      job_.exchange.ask(*comm_.revocation, wait.rank, call_);
      if (has_met_another()) {
        return End::kMismatch;
      }
    }
  }
}

QMP_status_t Operation::wait(int rank, Condition has_come, void* self) {
  Wait wait{this, rank, has_come, self, false, nullptr, false, End::kCome};
  switch (wait_in(wait)) {
    case End::kCome: return QMP_SUCCESS;
    case End::kRevoked: return fail_revoked();
    case End::kLeft:
      // At the end of a job nodes leave that are not to blame.
      return is_job_ending() ? fail_job_ending() : fail_left(rank);
    case End::kMismatch: return QMP_BAD_MESSAGE;
    default: return fail_job_ending();
  }
}

void Operation::wait_until_parted(int rank, Condition has_come, void* self) {
  Wait wait{this, rank, has_come, self, true, nullptr, false, End::kCome};
  (void)wait_in(wait);
}

/// A failure of an earlier operation does not end this one: all nodes may still
/// come to it.
QMP_status_t Operation::look_for_another() {
  if (is_revoked()) {
    const auto failed = job_.exchange.failed_of(*comm_.revocation);
    return failed.operation == call_.tag.number ? fail_revoked() : QMP_SUCCESS;
  }
  return has_met_another() ? QMP_BAD_MESSAGE : QMP_SUCCESS;
}

/// Looks at messages that have arrived and whose receive has not begun, and at
/// the operations in which partners wait for this node.
bool Operation::has_met_another() {
  Call theirs;
  for (const auto& [node, lanes] : comm_.lanes) {
    if (has_arrived(lanes, theirs)) {
      (void)fail_mismatch(theirs, comm_.ranks[static_cast<std::size_t>(node)]);
      return true;
    }
  }
  for (const auto& [rank, call] : job_.exchange.calls(*comm_.revocation)) {
    if (is_other(call)) {
      (void)fail_mismatch(call, rank);
      return true;
    }
  }
  return false;
}

bool Operation::has_arrived(const QMP_comm_struct::Lanes& lanes,
                            Call& theirs) const {
  if (lanes.pair != nullptr && lanes.pair->peek(theirs.tag, theirs.bytes)) {
    theirs.tag.number = whole_number(theirs.tag.number);
    if (is_other(theirs)) {
      return true;
    }
  }
  EnvelopeHead head{};
  if (!job_.exchange.peek(lanes.in, &head, sizeof head)) {
    return false;
  }
  theirs = {{head.number, static_cast<std::uint8_t>(head.kind)}, head.bytes};
  return is_other(theirs);
}

std::uint64_t Operation::whole_number(std::uint64_t low) const {
  // Takes the nearest number: partners are less than half the range apart.
  const std::uint64_t number = call_.tag.number;
  const std::uint64_t ahead = (low - number) % Pair::kNumbers;
  return ahead < Pair::kNumbers / 2 ? number + ahead
                                    : number + ahead - Pair::kNumbers;
}

/// Whether this node has called another operation with the number of `theirs`.
/// A number that it has not reached says nothing: the partner may be ahead.
bool Operation::is_other(const Call& theirs) const {
  const std::uint64_t number = theirs.tag.number;
  const Call& mine = comm_.recent[number % comm_.recent.size()];
  if (mine.tag.number != number) {
    return false;
  }
  return theirs.tag.kind == kHandshake
             ? mine.tag.kind == kBroadcast || mine.tag.kind == kAllToAll ||
                   mine.tag.kind == kJobBarrier
             : theirs.tag != mine.tag || theirs.bytes != mine.bytes;
}

void Operation::say_whom(int rank, double seconds) {
  has_said_ = true;
  const auto node = std::find(comm_.ranks.begin(), comm_.ranks.end(), rank);
  (void)QMP_error(
      "%s has waited %g s for node %d (%s): has it called it? It waits on "
      "(QMP_WAIT_TIMEOUT)",
      text().c_str(), seconds, static_cast<int>(node - comm_.ranks.begin()),
      qmp::describe(rank, job_.exchange.presences().read(rank)).c_str());
}

void Operation::revoke(const Revocation::Failed& failed) {
  job_.exchange.revoke(*comm_.revocation, failed);
}

std::string Operation::text() const {
  return describe(call_, function_);
}

std::string Operation::name_of(int rank) const {
  const auto node = std::find(comm_.ranks.begin(), comm_.ranks.end(), rank);
  return "node " + std::to_string(node - comm_.ranks.begin()) + " (rank " +
         std::to_string(rank) + ")";
}

/// Says why the operation failed, for the line of a node that was told of it.
std::string Operation::reason_of(const Revocation::Failed& failed) const {
  switch (failed.cause) {
    case Cause::kLeft:
      return "that node has left by exit(0) or QMP_finalize_msg_passing: all "
             "nodes have to call it";
    case Cause::kNoMemory: return "that node had no memory for it";
    case Cause::kDisagreement:
      return describe(failed.met[0].call) + " of " +
             name_of(failed.met[0].rank) + " met " +
             describe(failed.met[1].call) + " of " +
             name_of(failed.met[1].rank) +
             ": the calls of all nodes must agree";
    default: return QMP_error_string(failed.status);
  }
}

QMP_status_t Operation::fail_revoked() const {
  const auto failed = job_.exchange.failed_of(*comm_.revocation);
  const bool is_this = failed.operation == call_.tag.number;
  return fail(is_this ? failed.status : QMP_ERROR,
              "%s: %s has failed at %s: %s. There are no more on this "
              "communicator",
              text().c_str(), is_this ? "it" : "an earlier one",
              name_of(failed.rank).c_str(), reason_of(failed).c_str());
}

QMP_status_t Operation::fail_job_ending() const {
  return fail(QMP_ERROR, "%s has failed: the job is ending", text().c_str());
}

QMP_status_t Operation::fail_left(int rank) {
  revoke({call_.tag.number, rank, QMP_ERROR, Cause::kLeft, {}});
  return fail(QMP_ERROR,
              "%s: %s has left by exit(0) or QMP_finalize_msg_passing: all "
              "nodes have to call it. There are no more on this communicator",
              text().c_str(), name_of(rank).c_str());
}

QMP_status_t Operation::fail_memory(const char* for_what) {
  revoke({call_.tag.number, acp_rank(), QMP_NOMEM_ERR, Cause::kNoMemory, {}});
  return fail(QMP_NOMEM_ERR,
              "%s: no memory for %s. There are no more on this communicator",
              text().c_str(), for_what);
}

QMP_status_t Operation::fail_transfer(QMP_status_t status, int rank) {
  revoke({call_.tag.number, acp_rank(), status, Cause::kOther, {}});
  return fail(status, "%s with %s: %s. There are no more on this communicator",
              text().c_str(), name_of(rank).c_str(), QMP_error_string(status));
}

QMP_status_t Operation::fail_mismatch(const Call& theirs, int rank) {
  // This node may have left the operation in which the partner still waits;
  // then the earlier one is reported.
  const std::uint64_t number = std::min(theirs.tag.number, call_.tag.number);
  const Call& recent = comm_.recent[number % comm_.recent.size()];
  const bool is_earlier =
      number != call_.tag.number && recent.tag.number == number;
  revoke({number,
          acp_rank(),
          QMP_BAD_MESSAGE,
          Cause::kDisagreement,
          {{{acp_rank(), is_earlier ? recent : call_}, {rank, theirs}}}});
  return fail(QMP_BAD_MESSAGE,
              "%s met %s of %s: the calls of all nodes must agree. There are "
              "no more on this communicator",
              is_earlier ? describe(recent).c_str() : text().c_str(),
              describe(theirs).c_str(), name_of(rank).c_str());
}

}  // namespace qmp
