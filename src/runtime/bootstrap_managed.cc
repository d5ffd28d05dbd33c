// A process that another launcher than acprun has started. The first rank of
// each host makes the host segment. It exchanges data with other hosts by the
// launcher's key-value space. Called by find_bootstrap and by the Task. While
// MPI shares the connection to the launcher, it may not ask for an address
// card. docs/launcher.md, "Other launchers", has the steps, and what follows a
// death at each.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <optional>
#include <utility>

#include "base/host_facts.h"
#include "base/log.h"
#include "protocol/published_table.h"
#include "protocol/rank_names.h"
#include "runtime/bootstrap.h"
#include "runtime/bootstrap_door.h"
#include "runtime/bootstrap_links.h"
#include "runtime/host_bundle.h"
#include "runtime/host_group.h"
#include "runtime/host_watch.h"
#include "runtime/job_record.h"
#include "runtime/process_manager.h"

namespace acp::runtime {

namespace {

using protocol::Phase;

constexpr const char* kJobKey = "acp-job";

std::string host_key(std::uint32_t leader) {
  return fmt::format("acp-host-{}", leader);
}

std::string card_key(std::uint32_t proc) {
  return fmt::format("acp-card-{}", proc);
}

/// The cores of a host's ranks. A launcher may have bound each rank to some of
/// them; a quota of the control group can be less than that.
void set_cores(const protocol::HostSegment& segment,
               std::span<const HostPeer> peers) {
  const CpuMask own = allowed_cpus();
  CpuMask all = own;
  for (const HostPeer& peer : peers) {
    for (std::size_t i = 0; i < all.words.size(); ++i) {
      all.words[i] |= peer.cpus.words[i];
    }
  }
  const auto count = [](const CpuMask& cpus) {
    std::uint32_t bits = 0;
    for (const std::uint64_t word : cpus.words) {
      bits += static_cast<std::uint32_t>(std::popcount(word));
    }
    return bits;
  };
  const std::uint32_t allowed = allowed_cores();
  protocol::HostHeader& header = segment.header();
  header.cpus = all;
  header.cores = std::max(
      1U, allowed < count(own) ? std::min(allowed, count(all)) : count(all));
  const auto bind = [&](std::uint32_t rank, const CpuMask& cpus) {
    if (!(cpus == all)) {
      segment.record(segment.slot_of_proc(rank)).bound_cpus = cpus;
    }
  };
  bind(segment.record(0).proc, own);
  for (const HostPeer& peer : peers) {
    bind(peer.rank, peer.cpus);
  }
}

/// The bootstrap under a launcher other than acprun. HostWatch has a thread of
/// its own. Another thread, one at a time, calls join() and arrive(). Meanwhile
/// a third may fetch an address card.
class Managed final : public Bootstrap {
 public:
  explicit Managed(std::unique_ptr<ProcessManager> manager)
      : manager_(std::move(manager)) {}

  /// Meets the ranks of this host and maps their segment. `deadline` is for
  /// the phases of acp_init as well.
  Status join(const Settings& settings, TimePoint deadline) {
    init_deadline_ = deadline;
    const Status status = join_host(settings);
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
    const Status status = is_leader() ? lead(phase, init_deadline_)
                                      : follow(phase, init_deadline_);
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
  /// MPI would take the answer, and this rank would wait for ever.
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
    const auto card = get_bundle(proc, card_key(proc));
    if (!card.ok()) {
      return card.status() == Status::kAborted ? watch_->log_end()
                                               : card.status();
    }
    if (card->size() > room.size()) {
      return bad_bundle(proc, card_key(proc));
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

  void abort(int exit_status, std::string_view why) override {
    const protocol::ProcRecord& own =
        segment_.record(segment_.slot_of_proc(manager_->rank()));
    watch_->abort(exit_status,
                  fmt::format("rank {} on {}: {}",
                              own.rank.load(std::memory_order_relaxed),
                              host_name(), why));
  }

  /// The watch ends first: it uses the launcher's connection.
  void finalized() override {
    watch_.reset();
    manager_->finalize();
  }

 private:
  bool is_leader() const noexcept { return group_.leader == manager_->rank(); }

  /// During acp_init, before the watch runs, the launcher's death ends waits.
  WaitLimit init_limit() const noexcept {
    const DeathWatch launcher = manager_->death_watch();
    return {init_deadline_, launcher.fd, launcher.events};
  }

  /// For requests to the launcher, whose connection closes at its death.
  WaitLimit request_limit() const noexcept {
    return watch_ ? watch_->limit_until(init_deadline_)
                  : WaitLimit{init_deadline_, -1, POLLIN};
  }

  // --- joining -------------------------------------------------------------

  /// The leader opens its door before the fence and the members knock after it,
  /// so no member can find the door missing. The watch starts last: it owns the
  /// sockets that joining has used.
  Status join_host(const Settings& settings) {
    if (const Status status = find_host(); status != Status::kOk) {
      return status;
    }
    std::optional<Door> door;
    Status status = publish(settings, door);
    if (status == Status::kOk && manager_->size() > 1) {
      status = fence(init_deadline_);
    }
    if (status != Status::kOk) {
      return status;
    }
    status = is_leader() ? make_host(door) : enter_host();
    if (status != Status::kOk) {
      return status;
    }
    watch_.emplace(is_leader() ? HostRole::kLeader : HostRole::kMember,
                   std::move(peers_), segment_, *manager_,
                   is_leader() && !group_.is_whole_job() ? &links_ : nullptr);
    return watch_->start();
  }

  /// A launcher that does not tell which ranks share a host has to carry one
  /// more value of each rank.
  Status find_host() {
    auto map = manager_->node_map(request_limit());
    if (!map.ok()) {
      return map.status();
    }
    if (map->size() != manager_->size()) {
      map = ask_for_homes();
      if (!map.ok()) {
        return map.status();
      }
    }
    group_ = group_of(*map, manager_->rank());
    return Status::kOk;
  }

  /// Two ranks share a host when the host's name and the identity of its boot
  /// are equal. The numbers of the hosts are in the order of their lowest
  /// ranks, as in a map that a launcher gives.
  Result<NodeMap> ask_for_homes() {
    const HostRecord own = describe_this_host("");
    const auto home_key = [](std::uint32_t rank) {
      return fmt::format("acp-home-{}", rank);
    };
    Status status =
        put_bundle(home_key(manager_->rank()), own.host_name + "\n" + own.boot);
    if (status == Status::kOk) {
      status = fence(init_deadline_);
    }
    NodeMap map;
    std::vector<std::string> homes;
    for (std::uint32_t rank = 0;
         status == Status::kOk && rank < manager_->size(); ++rank) {
      const auto home = get_bundle(rank, home_key(rank));
      if (!home.ok()) {
        return home.status();
      }
      const auto found = std::ranges::find(homes, *home);
      map.push_back(static_cast<std::uint32_t>(found - homes.begin()));
      if (found == homes.end()) {
        homes.push_back(*home);
      }
    }
    return status == Status::kOk ? Result(std::move(map)) : status;
  }

  /// Rank 0 makes the identity of the job.
  Status publish(const Settings& settings, std::optional<Door>& door) {
    if (manager_->rank() == 0) {
      const auto identity = protocol::make_job_identity();
      if (!identity.ok()) {
        return identity.status();
      }
      job_.procs = manager_->size();
      job_.sizes = protocol::host_sizes_for(settings);
      job_.sizes.card_table = choose_card_table(settings);
      job_.identity = *identity;
      if (!group_.is_whole_job()) {
        const auto random = protocol::make_job_identity();
        if (!random.ok()) {
          return random.status();
        }
        job_.link_key = random->id;
        Status status = links_.open(job_.link_key, group_.others.size());
        if (status == Status::kOk) {
          status = put_bundle(kJobKey, encode_record(job_));
        }
        if (status != Status::kOk) {
          return status;
        }
      }
    }
    if (!is_leader() || manager_->size() == 1) {
      return Status::kOk;
    }
    Result<Door> opened = Door::open();
    if (!opened.ok()) {
      return opened.status();
    }
    door.emplace(std::move(*opened));
    host_ = describe_this_host(door->name());
    host_.port = links_.port();
    return put_bundle(host_key(group_.leader), encode_record(host_));
  }

  /// Rank 0 decides for all hosts. MPI reads every answer that comes over a
  /// connection which it shares, so no other thread may fetch there.
  protocol::CardTable choose_card_table(const Settings& settings) const {
    if (group_.is_whole_job()) {
      return protocol::CardTable::kOfJob;
    }
    const auto chosen = protocol::card_table_for(settings, manager_->size());
    if (chosen == protocol::CardTable::kOfHost &&
        manager_->shares_connection()) {
      log(LogLevel::kInfo,
          "each host gets the address cards of all ranks: MPI is loaded, and "
          "shares the connection to the launcher");
      return protocol::CardTable::kOfJob;
    }
    return chosen;
  }

  /// The segment is made when all ranks of the host are there, because their
  /// cores are in its header.
  Status make_host(std::optional<Door>& door) {
    Status status = learn_job();
    if (status != Status::kOk) {
      return status;
    }
    if (group_.ranks.size() > 1) {
      auto peers =
          door->gather(std::span(group_.ranks).subspan(1), init_limit());
      if (!peers.ok()) {
        return peers.status();
      }
      peers_ = std::move(*peers);
    }
    protocol::HostPlan plan;
    plan.procs = manager_->size();
    plan.local_procs = group_.ranks;
    plan.sizes = job_.sizes;
    plan.identity = job_.identity;
    status = find_route(plan);
    if (status != Status::kOk) {
      return status;
    }
    const Result<UniqueFd> memory = protocol::create_host_segment(plan);
    if (!memory.ok()) {
      return memory.status();
    }
    status = map(memory->get());
    if (status == Status::kOk) {
      set_cores(segment_, peers_);
    }
    for (const HostPeer& peer : peers_) {
      status = status == Status::kOk ? welcome(peer, memory->get()) : status;
    }
    return status;
  }

  /// Rank 0 wrote the record itself. The version is compared here, because the
  /// record is the first thing that a host reads of another one.
  Status learn_job() {
    if (manager_->rank() == 0) {
      return Status::kOk;
    }
    const auto bytes = get_bundle(0, kJobKey);
    if (!bytes.ok()) {
      return bytes.status();
    }
    const auto record = decode_job_record(*bytes);
    if (!record || record->version != protocol::kHostVersion ||
        record->link_version != kLinkVersion ||
        record->procs != manager_->size()) {
      log_error(
          "rank 0 has version {} of the host segment and {} ranks, this rank "
          "version {} and {}: all hosts need the same build of the library",
          record ? record->version : 0, record ? record->procs : 0,
          protocol::kHostVersion, manager_->size());
      return Status::kProtocol;
    }
    job_ = *record;
    return Status::kOk;
  }

  /// One other host is enough: all are on the network that leads to it. Hosts
  /// that are together with this one lead nowhere. The first host is that of
  /// rank 0, where this one is another, and the lifeline leads there. A host
  /// without a route keeps the first reason; then transports that need the
  /// route fail, and the others work.
  Status find_route(protocol::HostPlan& plan) {
    std::string why;
    for (const std::uint32_t other : group_.others) {
      const auto bytes = get_bundle(other, host_key(other));
      if (!bytes.ok()) {
        return bytes.status();
      }
      const auto record = decode_host_record(*bytes);
      if (!record) {
        return bad_bundle(other, host_key(other));
      }
      const bool is_here = are_together(host_, *record);
      plan.route_to = route_between(host_, *record);
      if (other == 0 && (is_here || !plan.route_to.empty())) {
        (void)links_.connect(is_here ? "127.0.0.1" : plan.route_to,
                             record->port, job_.link_key, manager_->rank(),
                             init_limit());
      }
      if (!plan.route_to.empty()) {
        return Status::kOk;
      }
      if (!is_here && why.empty()) {
        why = why_no_route(host_, *record);
      }
    }
    plan.why_no_route = why;
    return Status::kOk;
  }

  Status enter_host() {
    const std::string key = host_key(group_.leader);
    const auto bytes = get_bundle(group_.leader, key);
    if (!bytes.ok()) {
      return bytes.status();
    }
    const auto record = decode_host_record(*bytes);
    if (!record) {
      return bad_bundle(group_.leader, key);
    }
    auto admission =
        enter_door(*record, group_.leader, manager_->rank(), init_limit());
    if (!admission.ok()) {
      return admission.status();
    }
    peers_.push_back(std::move(admission->leader));
    return map(admission->memory.get());
  }

  Status map(int memory) {
    Result<protocol::HostSegment> segment = protocol::HostSegment::map(memory);
    if (!segment.ok()) {
      return segment.status();
    }
    segment_ = std::move(*segment);
    return Status::kOk;
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

  Status lead(Phase phase, TimePoint deadline) {
    Status status = watch_->wait_for_ranks(phase, deadline);
    if (status == Status::kOk && !group_.is_whole_job()) {
      status = protocol::has_table(phase)
                   ? exchange(phase, deadline)
                   : fence(deadline, values_of_fence(phase));
    }
    if (status == Status::kOk && has_cards_to_offer(phase)) {
      status = offer_card(deadline);
    }
    if (status == Status::kOk) {
      watch_->go(phase);
    }
    return status;
  }

  /// The fence is among all ranks of the job.
  Status follow(Phase phase, TimePoint deadline) {
    watch_->arrive(phase);
    if (!group_.is_whole_job()) {
      Status status = fence(deadline, values_of_fence(phase));
      if (status == Status::kOk && has_cards_to_offer(phase)) {
        status = offer_card(deadline);
      }
      if (status != Status::kOk) {
        return status;
      }
    }
    return watch_->wait_for_go(phase, deadline);
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
  Status offer_card(TimePoint deadline) {
    const std::uint32_t proc = manager_->rank();
    const auto card = protocol::used_part(segment_.card(proc));
    const Status status =
        put_bundle(card_key(proc),
                   {reinterpret_cast<const char*>(card.data()), card.size()});
    return status == Status::kOk ? fence(deadline, FenceValues::kOnRequest)
                                 : status;
  }

  /// Brings the records of all hosts into all segments, and in Phase::kInit the
  /// address cards that have room there. A
  /// key-value space may refuse a second value for a key, so each round has
  /// keys of its own.
  Status exchange(Phase phase, TimePoint deadline) {
    const std::uint32_t round = round_++;
    Status status =
        put_bundle(table_key(round, group_.leader),
                   protocol::make_table(segment_, group_.ranks, phase));
    if (status == Status::kOk) {
      status = fence(deadline);
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
      const auto bytes = get_bundle(other, key);
      if (!bytes.ok()) {
        return bytes.status();
      }
      if (!protocol::write_table(segment_, *bytes)) {
        return bad_bundle(other, key);
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

  // --- the launcher --------------------------------------------------------

  Status fence(TimePoint deadline,
               FenceValues values = FenceValues::kToAllHosts) {
    WaitLimit limit = request_limit();
    limit.deadline = deadline;
    const Status status = manager_->fence(values, limit);
    if (status == Status::kTimedOut) {
      log_error(
          "not all ranks of the job came to acp_init in time; the launcher "
          "does not tell which. If they need longer before acp_init, set "
          "ACP_INIT_TIMEOUT; ranks of a program without ACP never come");
    }
    return status == Status::kAborted && watch_ ? watch_->log_end() : status;
  }

  Status put_bundle(const std::string& key, std::string_view bytes) {
    const auto values = split_bundle(bytes, manager_->value_limit());
    if (values.empty()) {
      log_error(
          "{} bytes for the launcher's value {}: {} values of {} characters "
          "are the limit; acprun has none",
          bytes.size(), key, kBundleMaxParts, manager_->value_limit());
      return Status::kTooLarge;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Status status = manager_->put(fmt::format("{}-{}", key, i),
                                          values[i], request_limit());
      if (status != Status::kOk) {
        return unanswered(key, status);
      }
    }
    return Status::kOk;
  }

  Result<std::string> get_bundle(std::uint32_t owner, const std::string& key) {
    std::string text;
    std::uint32_t parts = 1;
    for (std::uint32_t i = 0; i < parts; ++i) {
      const auto value =
          manager_->get(owner, fmt::format("{}-{}", key, i), request_limit());
      if (!value.ok()) {
        return unanswered(key, value.status());
      }
      const auto part = decode_bundle_part(*value);
      if (!part || (i > 0 && part->parts != parts)) {
        return bad_bundle(owner, key);
      }
      parts = part->parts;
      text += part->text;
    }
    auto bytes = decode_bundle(text);
    return bytes ? Result(std::move(*bytes)) : bad_bundle(owner, key);
  }

  /// The process manager has logged every other status.
  static Status unanswered(const std::string& key, Status status) {
    if (status == Status::kTimedOut) {
      log_error(
          "the launcher does not answer a request for its value {}, and "
          "ACP_INIT_TIMEOUT is over: see whether its process on this host is "
          "stopped",
          key);
    }
    return status;
  }

  static Status bad_bundle(std::uint32_t owner, const std::string& key) {
    log_error(
        "the launcher's value {} of rank {} makes no sense: all hosts need the "
        "same build of the library",
        key, owner);
    return Status::kProtocol;
  }

  // join() writes these fields before it starts the thread of watch_. They do
  // not change later, unless a comment says so. No lock guards them.
  std::unique_ptr<ProcessManager> manager_;
  /// arrive() ends it.
  TimePoint init_deadline_ = TimePoint::max();  ///< Until acp_init is over.
  HostGroup group_;
  JobRecord job_;                ///< Leaders only.
  HostRecord host_;              ///< Leaders only.
  std::vector<HostPeer> peers_;  ///< Until the watch has them.
  HostLinks links_;              ///< Leaders only. Locks by itself.
  /// Exchanges so far; leaders only. arrive() counts them.
  std::uint32_t round_ = 0;
  /// Bytes that the last fetch has written. Written by the thread that
  /// fetches an address card, one at a time.
  std::size_t fetched_bytes_ = 0;
  protocol::HostSegment segment_;
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
