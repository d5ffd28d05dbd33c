// From which operation on the global operations of one communicator fail, and
// how its nodes tell each other. docs/qmp.md, "Revocation".
#pragma once

#include <atomic>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "qmp.h"
#include "qmp/connector.h"
#include "qmp/message_layout.h"

namespace qmp {

/// All but covers() under the lock of the process.
class Revocation {
 public:
  /// The operation from which on they fail, where it failed first, and what it
  /// met there.
  struct Cause {
    std::uint64_t operation = 0;
    int rank = 0;
    QMP_status_t status = QMP_ERROR;
  };

  Revocation(std::uint32_t comm, Connector& connector)
      : comm_(comm), connector_(connector) {}

  /// Whether the operation fails. Any thread, without the lock.
  bool covers(std::uint64_t operation) const {
    // Acquire: pairs with revoke.
    return from_.load(std::memory_order_acquire) <= operation;
  }

  const Cause& cause() const { return cause_; }

  /// The communicator exists here: `partners` are the ranks to tell.
  void join(std::vector<int> partners);

  /// Operations from the cause's on fail.
  void revoke(const Cause& cause);

  /// A partner has told, or asked.
  void hear(const Announcement& text);

  /// Tells a partner in what operation this node waits for it. Where two wait
  /// for each other in different ones, both see it.
  void ask(int rank, const Call& call);

  /// By rank: in what operation it waited for this node last.
  const std::unordered_map<int, Call>& calls() const { return calls_; }

  /// Whether the rank has told that it sends nothing for this operation.
  bool has_parted(int rank, std::uint64_t operation) const;

  /// An operation starts transfers that write into a partner's memory; false:
  /// it fails already. Until end_transfers() nothing is told, because what is
  /// told is that nothing is sent any more.
  bool begin_transfers(std::uint64_t operation);
  void end_transfers();

 private:
  static constexpr std::uint64_t kNever = UINT64_MAX;

  void tell();

  std::uint32_t comm_;
  Connector& connector_;
  std::atomic<std::uint64_t> from_{kNever};  ///< Only decreases.
  Cause cause_;
  std::uint64_t told_ = kNever;  ///< What the partners know from this rank.
  bool is_sending_ = false;
  std::vector<int> partners_;
  std::unordered_map<int, std::uint64_t> parted_;  ///< By rank: from when on.
  std::unordered_map<int, Call> calls_;
};

}  // namespace qmp
