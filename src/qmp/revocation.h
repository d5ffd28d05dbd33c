// The state of one communicator for its global operations: from which operation
// on they fail, and what its nodes have told each other. docs/qmp.md,
// "Revocation".
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "qmp.h"
#include "qmp/connector.h"
#include "qmp/message_layout.h"

namespace qmp {

/// The lock of the process guards everything but covers().
class Revocation {
 public:
  /// A call, and the rank that made it.
  struct CallOf {
    int rank = 0;
    Call call;
  };

  /// The first operation that fails, and why.
  struct Failed {
    std::uint64_t operation = 0;
    int rank = 0;                     ///< Where it failed, or who has left.
    QMP_status_t status = QMP_ERROR;  ///< The status there.
    Cause cause = Cause::kOther;
    std::array<CallOf, 2> met{};  ///< The two calls, with kDisagreement.
  };

  Revocation(std::uint32_t comm, Connector& connector)
      : comm_(comm), connector_(connector) {}

  /// Whether an operation fails. Any thread, without the lock.
  bool covers(std::uint64_t operation) const {
    // Acquire: pairs with the release in revoke().
    return from_.load(std::memory_order_acquire) <= operation;
  }

  const Failed& failed() const { return failed_; }

  /// This rank has made the communicator; `partners` are the ranks to tell.
  void join(const std::vector<int>& partners);

  /// This rank exchanges messages with further ranks from now on.
  void add_partners(const std::vector<int>& ranks);

  /// Operations from this one on fail.
  void revoke(const Failed& failed);

  /// Takes a revocation, a call that did not agree, or a call notice.
  void hear(const InboxMessage& message);

  /// Tells a partner in which operation this node waits for it. When two nodes
  /// wait for each other in different operations, both learn it.
  void ask(int rank, const Call& call);

  /// By rank: the operation in which it waited for this node last.
  const std::unordered_map<int, Call>& calls() const { return calls_; }

  /// Whether the rank has told that it sends nothing for this operation.
  bool has_parted(int rank, std::uint64_t operation) const;

  /// An operation starts transfers that write into memory of partners. False:
  /// the operation has failed already. Until end_transfers() partners are not
  /// told of a failure, because that notice says that nothing is under way.
  bool begin_transfers(std::uint64_t operation);
  void end_transfers();

 private:
  static constexpr std::uint64_t kNever = UINT64_MAX;

  void tell();
  void tell_one(int rank);
  void hear_failure(int rank, const InboxMessage& message);

  std::uint32_t comm_;
  Connector& connector_;
  std::atomic<std::uint64_t> from_{
      kNever};  ///< Written under the lock; only decreases.
  // The lock of the process guards the rest.
  Failed failed_;                ///< Written by revoke().
  std::uint64_t told_ = kNever;  ///< Last told to the partners, by tell().
  bool is_sending_ = false;      ///< From begin_transfers() to end_transfers().
  bool has_joined_ = false;      ///< Written by join().
  /// Sorted. Written by join() and add_partners(), and by hear(): a rank that
  /// tells is told.
  std::vector<int> partners_;
  std::unordered_map<int, std::uint64_t>
      parted_;  ///< By rank: told that it sends nothing from this number on.
                ///< Written by hear().
  std::unordered_map<int, Call> calls_;  ///< Written by hear().
  /// By rank: calls that it told, until its revocation comes. Written by
  /// hear().
  std::unordered_map<int, std::vector<CallOf>> met_;
};

}  // namespace qmp
