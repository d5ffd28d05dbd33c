// The part of a job that runs on one host: its segment, its keeper, the
// bootstrap of its ranks and their output. It is the same in acprun, for
// acprun's own host, and in a daemon. It decides nothing about the job: it
// reports what happens and carries out orders.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/bootstrap_server.h"
#include "launcher/card_cache.h"
#include "launcher/event_loop.h"
#include "launcher/heartbeat.h"
#include "launcher/host_message.h"
#include "launcher/host_work.h"
#include "launcher/keeper_connection.h"
#include "launcher/output.h"
#include "launcher/rank_counters.h"
#include "launcher/rank_look.h"
#include "launcher/rank_streams.h"
#include "protocol/host_segment.h"

namespace acp::launcher {

/// Used by the thread of the event loop, which alone touches all fields.
class HostPart {
 public:
  using Report = std::function<void(HostMessage)>;

  /// The arguments must outlive this. Reports have the number of this host.
  HostPart(std::uint32_t host,
           const HostWork& work,
           EventLoop& loop,
           Output& output,
           Report report);

  /// Makes the host segment and starts the ranks. `plan` has the job's sizes
  /// and identity; the local processes are those of the work. Fails with
  /// kSystem or kNoMemory, logged.
  [[nodiscard]] Status start(protocol::HostPlan plan,
                             const InheritedState& inherited);

  /// The pipe to the rank that reads standard input, non-blocking; empty when
  /// that rank is on another host.
  UniqueFd take_input() { return std::move(input_); }

  /// Carries out one of kWelcome, kTable, kGo, kEnd, kKill, kSignal, kPause,
  /// kAbsent, kNoRoute, kWantAddress and kAddress.
  void take(const HostMessage& order);

  /// In a job on several hosts: tells the keeper every Heartbeat::kInterval
  /// that this process lives. A keeper that has heard so once, and then hears
  /// nothing for Heartbeat::kSilence, kills the ranks. Call it after every
  /// event and at the time next_word().
  void keep_alive();

  Heartbeat::Clock::time_point next_word() const { return next_word_; }

  std::vector<RankLook> look() const;

  /// The counters of each rank that counts. Reads much: for the end of the job.
  std::vector<RankCounters> counters() const;

  /// The keeper, and with it every rank, has ended.
  bool is_gone() const noexcept { return is_gone_; }

  /// The process of the keeper; not positive: it was not started.
  pid_t keeper_pid() const noexcept { return keeper_.pid(); }

  /// Stops listening to a keeper that does not do its work. The caller then
  /// ends all descendants itself.
  void give_up_keeper();

 private:
  void receive_from_keeper();
  void take_keeper_message(const KeeperMessage& message);
  void take_exit(const KeeperMessage& message);
  void take_rank_message(std::uint32_t slot,
                         std::optional<protocol::BootstrapMessage> message);
  bool answer_from_cache(std::uint32_t slot, std::uint64_t wanted);
  void note_arrival(protocol::Phase phase);
  void take_absence(std::int64_t word);
  void take_no_route(std::string_view why);
  void show_card(const HostMessage& order);
  void deliver_card(const HostMessage& order);
  void lose_keeper();
  void report(HostMessageType type,
              std::uint32_t rank,
              std::int64_t value = 0,
              std::int64_t more = 0,
              std::string text = {});

  std::uint32_t host_;
  const HostWork& work_;
  EventLoop& loop_;
  Output& output_;
  Report report_;
  BootstrapServer bootstrap_;
  CardCache cards_;  ///< Address cards of ranks on other hosts.
  KeeperConnection keeper_;
  Heartbeat::Clock::time_point
      next_word_{};                   ///< Time of the next word to the keeper.
  std::vector<std::uint32_t> ranks_;  ///< Numbers at launch, by slot.
  std::vector<std::uint32_t> pids_;   ///< By slot; 0: not running.
  UniqueFd input_;  ///< To the rank that reads standard input, until taken.
  std::size_t arrivals_ = 0;  ///< Ranks at the phase that is under way.
  bool is_gone_ = false;      ///< The keeper is gone, or was given up.
};

/// The slot of a rank among the host's ranks, which are ascending; nullopt when
/// the rank is on another host.
std::optional<std::uint32_t> slot_of(const std::vector<std::uint32_t>& ranks,
                                     std::uint32_t rank);

}  // namespace acp::launcher
