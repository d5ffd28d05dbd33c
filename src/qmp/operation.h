// One call of a global operation on this node: its tag, its waits for partners,
// and its failures. docs/qmp.md, "Revocation" and "Waiting".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "qmp.h"
#include "qmp/comm.h"
#include "qmp/job.h"
#include "qmp/message_layout.h"
#include "qmp/revocation.h"

namespace qmp {

/// Lives as long as the call, on its thread.
class Operation {
 public:
  /// `function` is the function that the program has called, a literal.
  Operation(Job& job,
            QMP_comm_struct& comm,
            const char* function,
            std::uint8_t kind,
            std::size_t bytes)
      : job_(job),
        comm_(comm),
        function_(function),
        call_{{++comm.operations, kind}, bytes} {
    comm.recent[call_.tag.number % comm.recent.size()] = call_;
  }

  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  Job& job() const { return job_; }

  QMP_comm_struct& comm() const { return comm_; }

  const Tag& tag() const { return call_.tag; }

  std::size_t bytes() const { return static_cast<std::size_t>(call_.bytes); }

  /// Whether an operation of this number or an earlier one has failed on some
  /// node, so that this one fails too.
  bool is_revoked() const;

  /// The channels to a node and from it, made by the first call. nullptr: no
  /// memory, and the operation has failed.
  QMP_comm_struct::Lanes* lanes_to(int node);

  using Condition = bool (*)(void*);

  /// Waits until has_come(self) is true, without a time limit. After
  /// QMP_WAIT_TIMEOUT it says once for which node it waits. Any status but
  /// QMP_SUCCESS: the operation has failed here.
  QMP_status_t wait(int rank, Condition has_come, void* self);

  /// For a barrier of the whole job, which waits by acp_sync. QMP_SUCCESS: the
  /// nodes that have come to a global operation have come to this one. Any
  /// other status: it has failed here.
  QMP_status_t look_for_another();

  /// Waits until the partner sends nothing more for this operation, which has
  /// failed. The caller may then free memory that the partner wrote to.
  void wait_until_parted(int rank, Condition has_come, void* self);

  /// The whole number of an operation, from the low bits that travel in the box
  /// of a pair.
  std::uint64_t whole_number(std::uint64_t low) const;

  // Each failure prints a line. Those that are not const revoke the
  // communicator.

  QMP_status_t fail_revoked() const;
  QMP_status_t fail_job_ending() const;
  QMP_status_t fail_left(int rank);
  QMP_status_t fail_memory(const char* for_what);
  QMP_status_t fail_transfer(QMP_status_t status, int rank);
  /// The partner has called another operation, `theirs`.
  QMP_status_t fail_mismatch(const Call& theirs, int rank);

 private:
  struct Wait;
  enum class End { kCome, kRevoked, kParted, kLeft, kMismatch, kJobEnds };

  static int is_over(void* wait);
  End wait_in(Wait& wait);
  void say_whom(int rank, double seconds);
  /// Whether a message or a call of a partner shows that the calls do not
  /// agree. Then the operation has failed.
  bool has_met_another();
  bool has_arrived(const QMP_comm_struct::Lanes& lanes, Call& theirs) const;
  bool is_other(const Call& theirs) const;
  void revoke(const Revocation::Failed& failed);
  std::string text() const;
  std::string reason_of(const Revocation::Failed& failed) const;
  std::string name_of(int rank) const;

  Job& job_;
  QMP_comm_struct& comm_;
  const char* function_;
  Call call_;
  /// Set once the user was told for which node this waits.
  bool has_said_ = false;
};

}  // namespace qmp
