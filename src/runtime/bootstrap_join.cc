// Joins the ranks of a host under a launcher other than acprun. Called once by
// bootstrap_managed.cc, in acp_init. It starts no thread, and ends no job when
// it fails.
#include "runtime/bootstrap_join.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/host_facts.h"
#include "base/log.h"
#include "runtime/host_cores.h"
#include "runtime/host_lookup.h"
#include "runtime/job_record.h"

namespace acp::runtime {

namespace {

constexpr const char* kJobKey = "acp-job";

std::string host_key(std::uint32_t leader) {
  return fmt::format("acp-host-{}", leader);
}

std::string secret_key(std::uint32_t leader) {
  return fmt::format("acp-secret-{}", leader);
}

/// The steps of join_host(). Used by one thread.
class Joining {
 public:
  Joining(ProcessManager& manager,
          BundleSpace& bundles,
          HostConnections& connections,
          TimePoint deadline)
      : manager_(manager),
        bundles_(bundles),
        connections_(connections),
        deadline_(deadline) {}

  /// The leader opens its door before the fence and the members knock after it,
  /// so no member can find the door missing.
  Result<JoinedHost> join(const Settings& settings) {
    auto group = look_up_host(manager_, bundles_, request_limit());
    if (!group.ok()) {
      return group.status();
    }
    group_ = std::move(*group);
    std::optional<Door> door;
    Status status = publish(settings, door);
    if (status == Status::kOk && manager_.size() > 1) {
      status = fence();
    }
    if (status == Status::kOk) {
      status = is_leader() ? make_host(door) : enter_host();
    }
    if (status != Status::kOk) {
      return status;
    }
    return JoinedHost{std::move(group_), std::move(peers_), std::move(segment_),
                      std::move(seal_keys_)};
  }

 private:
  bool is_leader() const noexcept { return group_.leader == manager_.rank(); }

  /// The launcher's death ends waits for other ranks.
  WaitLimit init_limit() const noexcept {
    const DeathWatch launcher = manager_.death_watch();
    return {deadline_, launcher.fd, launcher.events};
  }

  /// For requests to the launcher, whose connection closes at its death.
  WaitLimit request_limit() const noexcept { return {deadline_, -1, POLLIN}; }

  Status put(const std::string& key, std::string_view bytes) {
    return bundles_.put(key, bytes, request_limit());
  }

  Result<std::string> get(std::uint32_t owner, const std::string& key) {
    return bundles_.get(owner, key, request_limit());
  }

  Status fence() {
    return bundles_.fence(FenceValues::kToAllHosts, request_limit());
  }

  /// Rank 0 makes the identity of the job.
  Status publish(const Settings& settings, std::optional<Door>& door) {
    if (manager_.rank() == 0) {
      const auto identity = protocol::make_job_identity();
      if (!identity.ok()) {
        return identity.status();
      }
      job_.procs = manager_.size();
      job_.sizes = protocol::host_sizes_for(settings);
      job_.sizes.card_table = choose_card_table(settings);
      job_.id = identity->id;
      secret_ = identity->secret;
      if (!group_.is_whole_job()) {
        const auto random = protocol::make_job_identity();
        if (!random.ok()) {
          return random.status();
        }
        job_.leader_key = random->id;
        Status status =
            connections_.open(job_.leader_key, group_.others.size());
        if (status == Status::kOk) {
          status = put(kJobKey, encode_record(job_));
        }
        if (status != Status::kOk) {
          return status;
        }
      }
    }
    if (!is_leader() || manager_.size() == 1) {
      return Status::kOk;
    }
    Result<Door> opened = Door::open();
    if (!opened.ok()) {
      return opened.status();
    }
    door.emplace(std::move(*opened));
    host_ = describe_this_host(door->name());
    host_.port = connections_.port();
    if (manager_.rank() != 0) {
      host_.seal_key = seal_keys_.emplace().public_key();
    }
    return put(host_key(group_.leader), encode_record(host_));
  }

  /// Rank 0 decides for all hosts. MPI reads every answer that comes over a
  /// connection which it shares, so no other thread may fetch there.
  protocol::CardTable choose_card_table(const Settings& settings) const {
    if (group_.is_whole_job()) {
      return protocol::CardTable::kOfJob;
    }
    const auto chosen = protocol::card_table_for(settings, manager_.size());
    if (chosen == protocol::CardTable::kOfHost &&
        manager_.shares_connection()) {
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
    plan.procs = manager_.size();
    plan.local_procs = group_.ranks;
    plan.sizes = job_.sizes;
    plan.identity = {job_.id, secret_};
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
      set_cores(segment_, allowed_cpus(), allowed_cores(), peers_);
    }
    for (const HostPeer& peer : peers_) {
      status = status == Status::kOk ? welcome(peer, memory->get()) : status;
    }
    return status == Status::kOk && manager_.rank() == 0 ? offer_secret()
                                                         : status;
  }

  /// Rank 0: the secret for each other leader, which take_secret() reads after
  /// the next fence.
  Status offer_secret() {
    for (const std::uint32_t other : group_.others) {
      const auto bytes = get(other, host_key(other));
      if (!bytes.ok()) {
        return bytes.status();
      }
      const auto record = decode_host_record(*bytes);
      const auto sealed =
          record ? seal_secret(*secret_, record->seal_key) : std::nullopt;
      if (!sealed) {
        return BundleSpace::bad_value(other, host_key(other));
      }
      const Status status = put(secret_key(other), *sealed);
      if (status != Status::kOk) {
        return status;
      }
    }
    return Status::kOk;
  }

  /// Rank 0 wrote the record itself. The version is compared here, because the
  /// record is the first thing that a host reads of another one.
  Status learn_job() {
    if (manager_.rank() == 0) {
      return Status::kOk;
    }
    const auto bytes = get(0, kJobKey);
    if (!bytes.ok()) {
      return bytes.status();
    }
    const auto record = decode_job_record(*bytes);
    if (!record || record->version != protocol::kHostVersion ||
        record->leader_protocol != kLeaderProtocol ||
        record->procs != manager_.size()) {
      log_error(
          "rank 0 has version {}.{} of host segment and leaders' messages and "
          "{} ranks, this rank version {}.{} and {}: all hosts need the same "
          "build of the library",
          record ? record->version : 0, record ? record->leader_protocol : 0,
          record ? record->procs : 0, protocol::kHostVersion, kLeaderProtocol,
          manager_.size());
      return Status::kProtocol;
    }
    job_ = *record;
    return Status::kOk;
  }

  /// One other host is enough: all are on the network that leads to it. Hosts
  /// that are together with this one lead nowhere. On every host but that of
  /// rank 0, rank 0's host comes first in `group_.others`. The connection to
  /// rank 0 is made then. A host without a route keeps the first reason; then
  /// transports that need the route fail, and the others work.
  Status find_route(protocol::HostPlan& plan) {
    std::string why;
    for (const std::uint32_t other : group_.others) {
      const auto bytes = get(other, host_key(other));
      if (!bytes.ok()) {
        return bytes.status();
      }
      const auto record = decode_host_record(*bytes);
      if (!record) {
        return BundleSpace::bad_value(other, host_key(other));
      }
      const bool is_here = are_together(host_, *record);
      plan.route_to = route_between(host_, *record);
      if (other == 0 && (is_here || !plan.route_to.empty())) {
        (void)connections_.connect(is_here ? "127.0.0.1" : plan.route_to,
                                   record->port, job_.leader_key,
                                   manager_.rank(), init_limit());
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
    const auto bytes = get(group_.leader, key);
    if (!bytes.ok()) {
      return bytes.status();
    }
    const auto record = decode_host_record(*bytes);
    if (!record) {
      return BundleSpace::bad_value(group_.leader, key);
    }
    auto admission =
        enter_door(*record, group_.leader, manager_.rank(), init_limit());
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

  ProcessManager& manager_;
  BundleSpace& bundles_;
  HostConnections& connections_;
  const TimePoint deadline_;
  HostGroup group_;
  JobRecord job_;                                      ///< Leaders only.
  HostRecord host_;                                    ///< Leaders only.
  std::shared_ptr<const protocol::JobSecret> secret_;  ///< Rank 0 only.
  std::optional<SealKeys> seal_keys_;                  ///< Leaders but rank 0.
  std::vector<HostPeer> peers_;
  protocol::HostSegment segment_;
};

}  // namespace

Result<JoinedHost> join_host(ProcessManager& manager,
                             BundleSpace& bundles,
                             HostConnections& connections,
                             const Settings& settings,
                             TimePoint deadline) {
  return Joining(manager, bundles, connections, deadline).join(settings);
}

Status take_secret(const SealKeys& keys,
                   BundleSpace& bundles,
                   std::uint32_t leader,
                   const protocol::HostSegment& segment,
                   const WaitLimit& limit) {
  const std::string key = secret_key(leader);
  const auto sealed = bundles.get(0, key, limit);
  if (!sealed.ok()) {
    return sealed.status();
  }
  return keys.open(*sealed, segment.secret()) ? Status::kOk
                                              : BundleSpace::bad_value(0, key);
}

}  // namespace acp::runtime
