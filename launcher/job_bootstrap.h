// acprun's part in the bootstrap of all ranks of a job. It brings the ranks of
// all hosts through the phases together, and passes tables, absences and
// address cards on between hosts. job.cc gives it the reports of all hosts. It
// ends no job: it returns verdicts, and the caller decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "launcher/host_message.h"
#include "launcher/host_network.h"
#include "launcher/rank_hosts.h"
#include "launcher/rollcall.h"
#include "launcher/table_pieces.h"
#include "launcher/verdict.h"
#include "protocol/absence.h"

namespace acp::launcher {

/// Used by the thread of the event loop, which alone touches all fields. Makes
/// no system call.
///
/// Invariants:
///  1. The tables of a phase go out before its Go.
///  2. Every host is told of an absence that changes its words, and of no
///     other.
///  3. The states of the ranks do not change after stop_judging().
class JobBootstrap {
 public:
  using Order = std::function<void(const HostMessage&)>;

  /// `order` gives an order to its host, or to every host. `hosts` and
  /// `networks` must outlive this. `card_bytes` is the longest
  /// address card of the job.
  JobBootstrap(std::uint32_t ranks,
               std::size_t card_bytes,
               const RankHosts& hosts,
               const HostNetworks& networks,
               Order order);
  JobBootstrap(const JobBootstrap&) = delete;
  JobBootstrap& operator=(const JobBootstrap&) = delete;

  /// After stop_judging() it shows the ranks at that time.
  const Rollcall& rollcall() const noexcept { return rollcall_; }

  void note_start(std::uint32_t rank, std::uint32_t pid) {
    rollcall_.set_pid(rank, pid);
  }

  /// Takes the end of a rank's process.
  std::optional<Verdict> take_exit(std::uint32_t rank, int wait_status);

  /// Takes kRankMessage, whose rank the job has.
  std::optional<Verdict> take_rank_message(HostMessage report);

  /// Takes the text of kPublished. False: the bytes are no table of this job.
  [[nodiscard]] bool take_table(const std::string& table);

  /// Takes kAddress: the address card goes to the host of the rank that has
  /// asked.
  void pass_on_card(HostMessage report);

  /// The job ends. From now on there are no verdicts, and no phase ends.
  /// Absences and requests for address cards are still passed on: ranks that
  /// end in order need both.
  void stop_judging() noexcept { is_judging_ = false; }

 private:
  std::optional<Verdict> answer(std::uint32_t rank, Answer answer);
  void go(protocol::Phase phase);
  void tell_lost_hosts();
  std::optional<Verdict> take_absence(std::uint32_t rank, std::uint64_t word);
  void order_all(HostMessageType type,
                 std::int64_t value = 0,
                 std::string text = {});

  bool is_rank(std::int64_t value) const {
    return value >= 0 && value < std::int64_t{rollcall_.size()};
  }

  const std::size_t card_bytes_;
  const RankHosts& hosts_;
  const HostNetworks& networks_;
  const Order order_;
  Rollcall rollcall_;
  /// The hosts that have come to the phase under way have sent these.
  TablePieces tables_{[this](std::string piece) {
    order_all(HostMessageType::kTable, 0, std::move(piece));
  }};
  /// HostHeader::absences, as all hosts have been told.
  protocol::Absences absences_{};
  bool is_judging_ = true;  ///< Until stop_judging().
};

}  // namespace acp::launcher
