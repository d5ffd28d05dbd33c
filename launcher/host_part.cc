// Starts and serves the ranks of one host. Called by acprun's job and by
// daemons, from their event loops. It never waits for a rank.
#include "launcher/host_part.h"

#include <fmt/core.h>
#include <sys/wait.h>

#include <algorithm>
#include <tuple>

#include "launcher/launch.h"
#include "protocol/published_table.h"

namespace acp::launcher {

using protocol::BootstrapType;
using protocol::Phase;

HostPart::HostPart(std::uint32_t host,
                   const HostWork& work,
                   EventLoop& loop,
                   Output& output,
                   Report report)
    : host_(host),
      work_(work),
      loop_(loop),
      output_(output),
      report_(std::move(report)),
      pids_(work.ranks.size(), 0) {
  for (const RankPlan& one : work.ranks)
    ranks_.push_back(one.rank);
}

/// Makes the segment and the streams before the keeper starts ranks, which
/// inherit both. A failed start returns only after this process has closed the
/// ranks' ends.
Status HostPart::start(protocol::HostPlan plan,
                       const InheritedState& inherited) {
  plan.procs = work_.procs;
  plan.local_procs = ranks_;
  Status status = bootstrap_.open(plan);
  if (status != Status::kOk) return status;
  for (std::uint32_t slot = 0; slot < ranks_.size(); ++slot) {
    bootstrap_.segment().record(slot).bound_cpus = work_.ranks[slot].cpus.mask;
  }
  auto opened = open_streams(work_);
  if (!opened.ok()) return opened.status();
  std::vector<RankStreams>& streams = *opened;
  status =
      start_ranks(work_, streams, bootstrap_.rank_ends(), inherited, keeper_);
  // Copies here would keep pipes and sockets open after a rank's death.
  bootstrap_.close_rank_ends();
  // A single rank without --tag is passed through, so that its prompts appear.
  const LineMode mode = work_.procs == 1 && !work_.tag ? LineMode::kPassThrough
                                                       : LineMode::kLines;
  for (std::size_t slot = 0; slot < streams.size(); ++slot) {
    RankStreams& one = streams[slot];
    one.rank_ends = {};
    const LineAssembler lines(
        mode, work_.tag ? fmt::format("[{}] ", ranks_[slot]) : "");
    if (one.input) input_ = std::move(one.input);
    if (one.output && status == Status::kOk) {
      status = output_.add(std::move(one.output), Output::Stream::kOut, lines,
                           ranks_[slot]);
    }
    if (one.error && status == Status::kOk) {
      status = output_.add(std::move(one.error), Output::Stream::kErr, lines,
                           ranks_[slot]);
    }
  }
  if (status == Status::kOk) {
    status =
        loop_.watch(keeper_.fd(), EPOLLIN, [this] { receive_from_keeper(); });
  }
  if (status != Status::kOk) return status;
  return bootstrap_.serve(loop_, [this](std::uint32_t slot, auto message) {
    take_rank_message(slot, std::move(message));
  });
}

void HostPart::report(HostMessageType type,
                      std::uint32_t rank,
                      std::int64_t value,
                      std::int64_t more,
                      std::string text) {
  report_({type, host_, rank, value, more, std::move(text)});
}

// --- what happens on the host ----------------------------------------------

void HostPart::receive_from_keeper() {
  KeeperMessage message;
  for (;;) {
    switch (keeper_.receive(message)) {
      case KeeperConnection::Received::kNothing: return;
      case KeeperConnection::Received::kClosed: lose_keeper(); return;
      case KeeperConnection::Received::kMessage:
        take_keeper_message(message);
        break;
    }
  }
}

/// A process id that is known already stays. It came with Hello from the
/// program itself, and the keeper may have forked a seat or a wrapper instead.
void HostPart::take_keeper_message(const KeeperMessage& message) {
  const std::uint32_t slot = message.slot;
  switch (message.type) {
    case KeeperMessageType::kStarted:
      if (pids_[slot] == 0) {
        pids_[slot] = static_cast<std::uint32_t>(message.value);
      }
      report(HostMessageType::kStarted, ranks_[slot], message.value, 0,
             work_.ranks[slot].cpus.name);
      break;
    case KeeperMessageType::kStartFailed: {
      const auto failed = judge_failed_fork(static_cast<int>(message.value));
      report(HostMessageType::kNotStarted, ranks_[slot], failed.status, 0,
             encode_reason(failed.reason));
      break;
    }
    case KeeperMessageType::kExited: take_exit(message); break;
    default: break;
  }
}

/// All ranks may have sent messages before this rank died; an acp_abort among
/// them is the cause rather than the death.
void HostPart::take_exit(const KeeperMessage& message) {
  bootstrap_.catch_up();
  const std::uint32_t slot = message.slot;
  const auto stage = static_cast<SpawnStage>(message.stage);
  if (stage != SpawnStage::kNone) {
    const auto failed = judge_failed_start(work_, slot, stage, message.error);
    report(HostMessageType::kNotStarted, ranks_[slot], failed.status,
           pids_[slot], encode_reason(failed.reason));
  }
  pids_[slot] = 0;
  const std::uint32_t errors =
      bootstrap_.segment().record(slot).errors.load(std::memory_order_relaxed);
  report(HostMessageType::kExited, ranks_[slot], message.value, errors);
}

/// First notes what this host keeps of a message, and then reports it to
/// acprun, whose roll-call judges it. A wanted address card that is here needs
/// no report.
void HostPart::take_rank_message(
    std::uint32_t slot, std::optional<protocol::BootstrapMessage> message) {
  if (!message) {
    report(HostMessageType::kBadMessage, ranks_[slot]);
    return;
  }
  // The program itself, also where the keeper's child is a seat or a wrapper.
  // Hello may be read before the keeper's word that the child runs.
  if (message->type == BootstrapType::kHello) {
    pids_[slot] = static_cast<std::uint32_t>(message->value);
  }
  if (message->type == BootstrapType::kArrive) {
    note_arrival(static_cast<Phase>(message->value));
  }
  if (message->type == BootstrapType::kWantAddress &&
      answer_from_cache(slot, message->value)) {
    return;
  }
  report(HostMessageType::kRankMessage, ranks_[slot],
         static_cast<std::int64_t>(message->type),
         static_cast<std::int64_t>(message->value), std::move(message->text));
}

/// True: the rank has the address card that it wants, or gets it with another
/// rank of this host that has asked. A number that no rank has is left to the
/// roll-call, which ends the job.
bool HostPart::answer_from_cache(std::uint32_t slot, std::uint64_t wanted) {
  if (wanted >= work_.procs) return false;
  const auto rank = static_cast<std::uint32_t>(wanted);
  switch (cards_.ask(slot, rank)) {
    case CardCache::Answer::kAsk: return false;
    case CardCache::Answer::kUnder: break;
    case CardCache::Answer::kHere:
      bootstrap_.give_card(slot, cards_.find(rank));
      break;
  }
  return true;
}

/// The table of the host travels once, before the arrival of its last rank. A
/// rank that arrives twice is found by the roll-call, which ends the job.
void HostPart::note_arrival(Phase phase) {
  if (++arrivals_ < ranks_.size()) return;
  arrivals_ = 0;
  if (protocol::has_table(phase) && ranks_.size() < work_.procs) {
    report(HostMessageType::kPublished, 0, static_cast<std::int64_t>(phase), 0,
           protocol::make_table(bootstrap_.segment(), ranks_, phase));
  }
}

void HostPart::keep_alive() {
  const auto now = Heartbeat::Clock::now();
  if (now < next_word_) return;
  next_word_ = now + Heartbeat::kInterval;
  keeper_.order(KeeperMessageType::kAlive);
}

void HostPart::lose_keeper() {
  loop_.forget(keeper_.fd());
  bootstrap_.catch_up();
  const int status = keeper_.collect();
  is_gone_ = true;
  report(HostMessageType::kKeeperGone, 0, status, keeper_.pid());
}

void HostPart::give_up_keeper() {
  loop_.forget(keeper_.fd());
  is_gone_ = true;
}

std::vector<RankLook> HostPart::look() const {
  return look_at_ranks(bootstrap_.segment(), pids_);
}

std::vector<RankCounters> HostPart::counters() const {
  std::vector<RankCounters> all;
  for (std::uint32_t slot = 0; slot < ranks_.size(); ++slot) {
    if (auto one = read_counters(bootstrap_.segment(), slot)) {
      all.push_back(std::move(*one));
    }
  }
  return all;
}

// --- orders ----------------------------------------------------------------

/// Orders to ranks go through their bootstrap, and orders to processes through
/// the keeper. At the end the ranks hear why, before the keeper ends them.
void HostPart::take(const HostMessage& order) {
  switch (order.type) {
    case HostMessageType::kWelcome:
      if (const auto slot = slot_of(ranks_, order.rank)) {
        bootstrap_.welcome(*slot);
      }
      break;
    case HostMessageType::kTable:
      // acprun has looked at it: the bytes are a table.
      std::ignore = protocol::write_table(bootstrap_.segment(), order.text);
      break;
    case HostMessageType::kGo:
      bootstrap_.go(static_cast<Phase>(order.value));
      break;
    case HostMessageType::kEnd:
      bootstrap_.tell_ending(order.text);
      keeper_.order(KeeperMessageType::kEnd, order.value);
      break;
    case HostMessageType::kKill: keeper_.order(KeeperMessageType::kKill); break;
    case HostMessageType::kSignal:
      keeper_.order(KeeperMessageType::kSignal, order.value);
      break;
    case HostMessageType::kPause:
      keeper_.order(KeeperMessageType::kPause);
      break;
    case HostMessageType::kAbsent: take_absence(order.value); break;
    case HostMessageType::kNoRoute: take_no_route(order.text); break;
    case HostMessageType::kWantAddress: show_card(order); break;
    case HostMessageType::kAddress: deliver_card(order); break;
    default: break;
  }
}

/// The ranks read the text after Go, which is sent later.
void HostPart::take_no_route(std::string_view why) {
  bootstrap_.segment().header().set_why_no_route(why);
}

/// The absence of a rank on another host.
void HostPart::take_absence(std::int64_t word) {
  if (word != 0) {
    bootstrap_.segment().header().absences.enter(
        protocol::Absence::of(static_cast<std::uint64_t>(word)));
  }
}

/// A rank on some host speaks to a rank of this host for the first time. Ranks
/// ask after acp_init, when the address cards are complete.
void HostPart::show_card(const HostMessage& order) {
  if (!slot_of(ranks_, order.rank)) return;
  const auto card = protocol::used_part(bootstrap_.segment().card(order.rank));
  report(HostMessageType::kAddress, order.rank, order.value, 0,
         {reinterpret_cast<const char*>(card.data()), card.size()});
}

/// The address card goes to every rank of this host that has asked for it.
void HostPart::deliver_card(const HostMessage& order) {
  for (const std::uint32_t slot : cards_.take(order.rank, order.text)) {
    bootstrap_.give_card(slot, order.text);
  }
}

std::optional<std::uint32_t> slot_of(const std::vector<std::uint32_t>& ranks,
                                     std::uint32_t rank) {
  const auto found = std::ranges::lower_bound(ranks, rank);
  if (found == ranks.end() || *found != rank) return std::nullopt;
  return static_cast<std::uint32_t>(found - ranks.begin());
}

}  // namespace acp::launcher
