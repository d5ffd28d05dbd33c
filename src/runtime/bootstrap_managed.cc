// A process that another launcher than acprun has started. The first rank of
// each host makes the host segment. It exchanges data with other hosts by the
// launcher's key-value space. Called by find_bootstrap and by the Task. While
// MPI shares the connection to the launcher, it may not ask for an address
// card. docs/launcher.md, "Other launchers", has the steps, and what follows a
// death at each.
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/host_facts.h"
#include "base/log.h"
#include "protocol/published_table.h"
#include "protocol/rank_names.h"
#include "runtime/bootstrap.h"
#include "runtime/bootstrap_join.h"
#include "runtime/bundle_space.h"
#include "runtime/host_connections.h"
#include "runtime/host_group.h"
#include "runtime/host_watch.h"
#include "runtime/process_manager.h"

namespace acp::runtime {

namespace {

using protocol::Phase;

std::string card_key(std::uint32_t proc) {
  return fmt::format("acp-card-{}", proc);
}

/// The bootstrap under a launcher other than acprun. HostWatch has a thread of
/// its own. Another thread, one at a time, calls join() and arrive(). Meanwhile
/// a third may fetch an address card.
class Managed final : public Bootstrap {
 public:
  explicit Managed(std::unique_ptr<ProcessManager> manager)
      : manager_(std::move(manager)), bundles_(*manager_) {}

  /// Meets the ranks of this host and maps their segment. `deadline` is for
  /// the phases of acp_init as well.
  Status join(const Settings& settings, TimePoint deadline) {
    init_deadline_ = deadline;
    const Status status = join_and_watch(settings);
    if (status != Status::kOk) {
      give_up(status);
    }
    return status;
  }

  std::string_view name() const noexcept override { return manager_->name(); }

  std::uint32_t proc() const noexcept override { return manager_->rank(); }

  const protocol::HostSegment& segment() const noexcept override {
    return segment_;
  }

  Status arrive(Phase phase) override {
    const Status status = is_leader() ? lead(phase) : follow(phase);
    if (status == Status::kTimedOut) {
      watch_->abort(kStatusTimeout, "not all ranks came to acp_init in time");
    }
    if (phase == Phase::kInit) {
      init_deadline_ = TimePoint::max();
    }
    return status;
  }

  /// Every process has put its address card before Phase::kInit was over. The
  /// room is cleared first, because the bytes come without zeros at their end.
  /// Where MPI shares the connection, MPI may read the answer, and this rank
  /// would wait for ever; so the request is refused.
  Result<std::span<const std::byte>> fetch_card(std::uint32_t proc) override {
    if (manager_->shares_connection()) {  // Rank 0 had not loaded MPI.
      log_error(
          "the address card of {} cannot be asked for: MPI has been loaded, "
          "and "
          "reads the same connection to the launcher; set ACP_ADDRESSES=all",
          protocol::name_of_proc(segment_, proc));
      return Status::kUnsupported;
    }
    const auto room =
        segment_.fetched_card(segment_.slot_of_proc(manager_->rank()));
    std::ranges::fill(room.first(fetched_bytes_), std::byte{0});
    fetched_bytes_ = 0;
    const auto card = bundles_.get(proc, card_key(proc), request_limit());
    if (!card.ok()) {
      return card.status() == Status::kAborted ? watch_->log_end()
                                               : card.status();
    }
    if (card->size() > room.size()) {
      return BundleSpace::bad_value(proc, card_key(proc));
    }
    std::ranges::copy(std::as_bytes(std::span(*card)), room.begin());
    fetched_bytes_ = card->size();
    log(LogLevel::kDebug, "{} has fetched the address card of {}", name(),
        protocol::name_of_proc(segment_, proc));
    return std::span<const std::byte>(room);
  }

  void tell_absence(const protocol::Absence& absence) override {
    watch_->tell_absence(absence);
  }

  /// The watch ends this process even if the launcher does not.
  bool abort(int exit_status, std::string_view why) override {
    const protocol::ProcRecord& own =
        segment_.record(segment_.slot_of_proc(manager_->rank()));
    watch_->abort(exit_status,
                  fmt::format("rank {} on {}: {}",
                              own.rank.load(std::memory_order_relaxed),
                              host_name(), why));
    return true;
  }

  /// The watch ends first: it uses the launcher's connection.
  void finalized() override {
    watch_.reset();
    manager_->finalize();
  }

 private:
  bool is_leader() const noexcept { return group_.leader == manager_->rank(); }

  /// For requests to the launcher, whose connection closes at its death. The
  /// watch tells of the end of the job.
  WaitLimit request_limit() const noexcept {
    return watch_->limit_until(init_deadline_);
  }

  // --- joining -------------------------------------------------------------

  /// The watch starts last: it owns the sockets that joining has used.
  Status join_and_watch(const Settings& settings) {
    auto joined =
        join_host(*manager_, bundles_, connections_, settings, init_deadline_);
    if (!joined.ok()) {
      return joined.status();
    }
    group_ = std::move(joined->group);
    segment_ = std::move(joined->segment);
    seal_keys_ = std::move(joined->seal_keys);
    watch_.emplace(
        is_leader() ? HostRole::kLeader : HostRole::kMember,
        std::move(joined->peers), segment_, *manager_,
        is_leader() && !group_.is_whole_job() ? &connections_ : nullptr);
    return watch_->start();
  }

  /// The launcher need not end the other ranks because acp_init of one fails,
  /// and they would wait for this one.
  void give_up(Status status) {
    if (status == Status::kTimedOut) {
      manager_->abort(kStatusTimeout, "not all ranks came to acp_init in time");
    } else {
      manager_->abort(1, "acp_init has failed");
    }
  }

  // --- phases --------------------------------------------------------------

  Status lead(Phase phase) {
    Status status = watch_->wait_for_ranks(phase, init_deadline_);
    if (status == Status::kOk && !group_.is_whole_job()) {
      status = protocol::has_table(phase) ? exchange(phase)
                                          : fence(values_of_fence(phase));
    }
    if (status == Status::kOk && has_cards_to_offer(phase)) {
      status = offer_card();
    }
    if (status == Status::kOk && phase == Phase::kNetwork && seal_keys_) {
      status = take_secret(*seal_keys_, bundles_, group_.leader, segment_,
                           request_limit());
      seal_keys_.reset();
    }
    if (status == Status::kOk) {
      watch_->go(phase);
    }
    return status;
  }

  /// The fence is among all ranks of the job.
  Status follow(Phase phase) {
    watch_->arrive(phase);
    if (!group_.is_whole_job()) {
      Status status = fence(values_of_fence(phase));
      if (status == Status::kOk && has_cards_to_offer(phase)) {
        status = offer_card();
      }
      if (status != Status::kOk) {
        return status;
      }
    }
    return watch_->wait_for_go(phase, init_deadline_);
  }

  /// A fence without a table leaves the address cards where they are.
  static FenceValues values_of_fence(Phase phase) noexcept {
    return protocol::has_table(phase) ? FenceValues::kToAllHosts
                                      : FenceValues::kOnRequest;
  }

  /// Whether each rank puts its own address card, for ranks that ask for it.
  bool has_cards_to_offer(Phase phase) const noexcept {
    return phase == Phase::kInit &&
           segment_.header().card_table == protocol::CardTable::kOfHost;
  }

  /// The fence comes after that of exchange(), which brings all values to all
  /// hosts: this one leaves the address cards where they are.
  Status offer_card() {
    const std::uint32_t proc = manager_->rank();
    const auto card = protocol::used_part(segment_.card(proc));
    const Status status =
        bundles_.put(card_key(proc),
                     {reinterpret_cast<const char*>(card.data()), card.size()},
                     request_limit());
    return status == Status::kOk ? fence(FenceValues::kOnRequest) : status;
  }

  /// Brings the records of all hosts into all segments, and in Phase::kInit the
  /// address cards that have room there. A
  /// key-value space may refuse a second value for a key, so each round has
  /// keys of its own.
  Status exchange(Phase phase) {
    const std::uint32_t round = round_++;
    Status status = bundles_.put(
        table_key(round, group_.leader),
        protocol::make_table(segment_, group_.ranks, phase), request_limit());
    if (status == Status::kOk) {
      status = fence(FenceValues::kToAllHosts);
    }
    if (status != Status::kOk) {
      return status;
    }
    return phase == Phase::kCollective ? take_tables_in_reset(round)
                                       : take_tables(round);
  }

  static std::string table_key(std::uint32_t round, std::uint32_t leader) {
    return fmt::format("acp-{}-{}", round, leader);
  }

  Status take_tables(std::uint32_t round) {
    for (const std::uint32_t other : group_.others) {
      const std::string key = table_key(round, other);
      const auto bytes = bundles_.get(other, key, request_limit());
      if (!bytes.ok()) {
        return bytes.status();
      }
      if (!protocol::write_table(segment_, *bytes)) {
        return BundleSpace::bad_value(other, key);
      }
    }
    return Status::kOk;
  }

  /// The fence of a rank in acp_finalize may have ended that of ranks in
  /// acp_reset. Then tables are missing. The judgement says why, and if none
  /// comes, the error of a second try does.
  Status take_tables_in_reset(std::uint32_t round) {
    {
      const ErrorsAs quiet(LogLevel::kInfo);
      if (take_tables(round) == Status::kOk) {
        return Status::kOk;
      }
    }
    return watch_->await_judgement() ? watch_->log_end() : take_tables(round);
  }

  Status fence(FenceValues values) {
    const Status status = bundles_.fence(values, request_limit());
    return status == Status::kAborted ? watch_->log_end() : status;
  }

  // join() writes these fields before it starts the thread of watch_. They do
  // not change later, unless a comment says so. No lock guards them.
  std::unique_ptr<ProcessManager> manager_;
  BundleSpace bundles_;  ///< Uses the launcher's connection. Keeps no state.
  /// arrive() ends it.
  TimePoint init_deadline_ = TimePoint::max();  ///< Until acp_init is over.
  HostGroup group_;
  HostConnections connections_;  ///< Leaders only. Locks by itself.
  /// Exchanges so far; leaders only. arrive() counts them.
  std::uint32_t round_ = 0;
  /// Bytes that the last fetch has written. Written by the thread that
  /// fetches an address card, one at a time.
  std::size_t fetched_bytes_ = 0;
  protocol::HostSegment segment_;
  /// The leader of each host but that of rank 0, until Phase::kNetwork.
  std::optional<SealKeys> seal_keys_;
  std::optional<HostWatch> watch_;  ///< Uses the above. Locks by itself.
};

}  // namespace

Result<std::unique_ptr<Bootstrap>> join_managed_job(
    std::unique_ptr<ProcessManager> manager,
    const Settings& settings,
    TimePoint deadline) {
  auto managed = std::make_unique<Managed>(std::move(manager));
  if (const Status status = managed->join(settings, deadline);
      status != Status::kOk) {
    return status;
  }
  return std::unique_ptr<Bootstrap>(std::move(managed));
}

}  // namespace acp::runtime
