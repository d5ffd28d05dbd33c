// One call of a global operation on this node: its tag, its waits for partners,
// and its failures, which revoke the communicator. docs/qmp.md, "Revocation"
// and "Waiting".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "qmp.h"
#include "qmp/comm.h"
#include "qmp/job.h"
#include "qmp/message_layout.h"

namespace qmp {

/// Used by the thread that makes the call.
class Operation {
 public:
  Operation(Job& job,
            QMP_comm_struct& comm,
            std::uint8_t kind,
            std::size_t bytes)
      : job_(job), comm_(comm), call_{{++comm.operations, kind}, bytes} {
    comm.recent[call_.tag.number % comm.recent.size()] = call_;
  }

  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  Job& job() const { return job_; }

  QMP_comm_struct& comm() const { return comm_; }

  const Tag& tag() const { return call_.tag; }

  std::size_t bytes() const { return static_cast<std::size_t>(call_.bytes); }

  /// Whether it fails because an operation of this number or an earlier one has
  /// failed somewhere.
  bool is_revoked() const;

  /// Channels to a node and from it, made the first time. nullptr: it fails.
  QMP_comm_struct::Lanes* lanes_to(int node);

  using Condition = bool (*)(void*);

  /// Waits for a partner without a time limit. Says once for whom, after
  /// QMP_WAIT_TIMEOUT. Any other status: the operation has failed here.
  QMP_status_t wait(int rank, Condition has_come, void* self);

  /// Waits until the partner sends nothing any more: for an operation that has
  /// failed, before memory is freed that the partner may write to.
  void wait_until_parted(int rank, Condition has_come, void* self);

  /// Of the number of a tag in the box of a pair, which has its low bits.
  std::uint64_t whole_number(std::uint64_t low) const;

  // Failures: a line, and the communicator is revoked.

  QMP_status_t fail_revoked() const;
  QMP_status_t fail_cut_off() const;
  QMP_status_t fail_left(int rank);
  QMP_status_t fail_memory(const char* for_what);
  QMP_status_t fail_transfer(QMP_status_t status, int rank);
  /// The partner's operation is another one.
  QMP_status_t fail_mismatch(const Call& theirs, int rank);

 private:
  struct Wait;
  enum class End { kCome, kRevoked, kParted, kLeft, kMismatch, kJobEnds };

  static int is_over(void* wait);
  End wait_in(Wait& wait);
  void say_whom(int rank, double seconds);
  /// Whether a message has arrived that shows that calls do not agree.
  bool has_met_another();
  bool has_arrived(const QMP_comm_struct::Lanes& lanes, Call& theirs) const;
  bool is_other(const Call& theirs) const;
  void revoke(std::uint64_t from, int rank, QMP_status_t status);
  std::string text() const;
  std::string name_of(int rank) const;

  Job& job_;
  QMP_comm_struct& comm_;
  Call call_;
  bool has_said_ = false;
};

}  // namespace qmp
