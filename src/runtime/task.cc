// The life of a rank in a job: joining, acp_sync, acp_reset, acp_finalize,
// acp_abort. Called by src/api. It orders the calls of the parts and does none
// of their work. Collective calls may not run in a progress step, because they
// wait for other ranks.
#include "runtime/task.h"

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/host_facts.h"
#include "base/log.h"
#include "gma/call_name.h"
#include "protocol/job_ending.h"
#include "runtime/job_plan.h"
#include "runtime/proposals.h"
#include "runtime/standard_output.h"
#include "settings/networks.h"
#include "transport/shm/shm_transport.h"

namespace acp::runtime {

namespace {

/// Zeroes shared memory from a page's start and gives its pages back.
void clear_memory(std::byte* start, std::uint64_t size) {
  const std::uint64_t pages = (size + 4095) / 4096 * 4096;
  if (::madvise(start, pages, MADV_REMOVE) != 0) {
    std::memset(start, 0, size);
  }
}

}  // namespace

Task::Task(const Settings& settings,
           std::unique_ptr<Bootstrap> bootstrap,
           Modules& modules)
    : settings_(settings),
      bootstrap_(std::move(bootstrap)),
      modules_(modules),
      segment_(bootstrap_->segment()),
      slot_(segment_.slot_of_proc(bootstrap_->proc())),
      waits_(segment_.record(slot_)),
      renumbering_(segment_, bootstrap_->proc()) {}

/// The thread ends first: it uses everything else.
Task::~Task() {
  if (progress_ != nullptr) {
    progress_->stop();
  }
}

Status Task::join(const NetTransportFactory& make_net_transport) {
  const Status status = open(make_net_transport);
  return status == Status::kOk ? start() : status;
}

/// Opens all parts that need no other process. A part uses only parts that are
/// opened before it, and is closed before them.
Status Task::open(const NetTransportFactory& make_net_transport) {
  segment_.dump_own_slice(slot_);
  const protocol::HostHeader& header = segment_.header();
  segment_.record(slot_).os_pid.store(static_cast<std::uint32_t>(::getpid()),
                                      std::memory_order_relaxed);
  tell_errors();  // Calls before acp_init may have failed.
  begin_to_count();
  waits_.enter(protocol::WaitKind::kInit, protocol::kNoSlot);
  if (const Status status = check_sizes(settings_, header);
      status != Status::kOk) {
    return status;
  }
  if (const Status status = modules_.lay_out(header.module_bytes);
      status != Status::kOk) {
    return status;
  }
  auto doorbell = shm::DoorbellSocket::open(segment_, slot_);
  if (!doorbell.ok()) {
    return doorbell.status();
  }
  doorbell_ = std::move(*doorbell);
  keys_ = std::make_unique<gmm::KeyTable>(segment_, slot_);
  set_identity();
  if (const Status status = open_transports(make_net_transport);
      status != Status::kOk) {
    return status;
  }
  return open_engine();
}

/// The launcher gives the segment counters if its own ACP_COUNTERS is 1.
void Task::begin_to_count() {
  if (settings_.number(SettingId::kCounters) == 0) {
    return;
  }
  if (segment_.header().counter_bytes == 0) {
    log_warning(
        "ACP_COUNTERS=1 has no effect: the launcher has set no memory aside "
        "for counters; give it ACP_COUNTERS=1, too");
    return;
  }
  counters_ = std::make_unique<Counters>(segment_, slot_, settings_);
  waits_.count_by(*counters_);
}

/// The network comes before the host's transport, which has as many colors.
Status Task::open_transports(const NetTransportFactory& make_net_transport) {
  if (const Status status = check_net(settings_); status != Status::kOk) {
    return status;
  }
  transports_ = std::make_unique<TransportSet>(segment_);
  colors_ = colors_without_net(settings_);
  if (wants_net(settings_, segment_.header())) {
    auto net = open_job_network(settings_, *bootstrap_, make_net_transport);
    if (!net.ok()) {
      return net.status();
    }
    network_why_ = std::move(net->why);
    colors_ = net->transport->capabilities().colors;
    transports_->set_net_transport(std::move(net->transport));
    transports_->set_rdma_transport(std::move(net->rdma),
                                    std::move(net->rdma_peers));
  }
  if (!is_network_everywhere(settings_)) {
    shm::ShmTransport::Options options;
    options.my_proc = bootstrap_->proc();
    options.my_slot = slot_;
    options.colors = colors_;
    options.allows_cross_memory = settings_.text(SettingId::kCma) != "off";
    transports_->set_host_transport(
        std::make_unique<shm::ShmTransport>(segment_, *doorbell_, options));
  }
  return Status::kOk;
}

/// The engine waits by Progress, and Progress makes the engine's passes. So the
/// engine gets Progress when it is made, and Progress gets the engine by
/// attach(). Nothing polls before that: the thread starts in start().
Status Task::open_engine() {
  const protocol::HostHeader& header = segment_.header();
  const gmm::AddressSpace space(segment_, slot_, bootstrap_->proc(), colors_,
                                reach_with(settings_, transports_->net()));
  if (colors_ > space.codec().max_colors()) {
    log_error(
        "{} colors: at most {} with {} ranks; ACP_UDP_INTERFACES or "
        "ACP_VERBS_DEVICES chooses fewer",
        colors_, space.codec().max_colors(), procs());
    return Status::kBadOption;
  }
  progress_ = std::make_unique<Progress>(segment_, slot_, *doorbell_, waits_,
                                         wait_policy(settings_, header));
  engine_.emplace(space, *transports_, *doorbell_, *transports_, *progress_);
  agent_ = std::make_unique<agent::Agent>(engine_->space(), *doorbell_,
                                          *transports_);
  engine_->set_delegated_done(
      [this](const gma::ReplyTo& to, Status status, gma::CopyEnd failed_end) {
        agent_->reply(to.proc, to.color, to.id, status,
                      failed_end == gma::CopyEnd::kDestination
                          ? protocol::kDestinationFailed
                          : protocol::kSourceFailed);
      });
  transports_->attach(
      *engine_, *agent_,
      [this](TimePoint deadline) { progress_->rouse_before(deadline); },
      [this](std::string_view text) { (void)bootstrap_->abort(1, text); });
  progress_->attach(*engine_, *transports_);
  watch_neighbor();
  const BarrierKind kind = is_network_everywhere(settings_) ? BarrierKind::kNet
                           : header.is_whole_job()          ? BarrierKind::kHost
                                                   : BarrierKind::kLeaders;
  sync_.emplace(segment_, slot_, kind, *engine_, *progress_, *doorbell_,
                *bootstrap_);
  own_regions_.emplace(*keys_, *engine_, *transports_, *progress_,
                       header.key_entries - gmm::kFirstUserKey);
  if (counters_ != nullptr) {
    counted_ways_.emplace(segment_, engine_->space(), *engine_, *transports_);
    own_regions_->count_by(*counters_);
  }
  own_regions_->add_library_memory();
  return Status::kOk;
}

/// Where ranks of one host speak by udp, that notices a silent one.
void Task::watch_neighbor() {
  const transport::Transport* net = transports_->net();
  if (!is_network_everywhere(settings_) || net == nullptr ||
      net->name() != "udp") {
    progress_->watch_neighbor(
        std::chrono::seconds(settings_.number(SettingId::kUdpSilence)));
  }
}

/// Different modules would make an address mean different memory.
bool Task::modules_agree() const {
  const std::uint64_t mine = modules_.fingerprint();
  // Ranks are equal to process numbers until the first acp_reset.
  for (std::uint32_t proc = 0; proc < procs(); ++proc) {
    if (segment_.published(proc).modules.load(std::memory_order_relaxed) !=
        mine) {
      log_error(
          "the modules of this rank and of rank {} differ: every rank has to "
          "add the same ones, with the same sizes, in the same order",
          proc);
      return false;
    }
  }
  return true;
}

/// The process that this host's `proc` meets other hosts by, with this rank's
/// settings.
std::uint32_t Task::leader_of(std::uint32_t proc) const {
  return is_network_everywhere(settings_) ? proc : segment_.record(0).proc;
}

/// In a job of one host, each rank compares itself with each other one, so that
/// no rank goes on while another one reports.
bool Task::networks_agree() const {
  const protocol::HostHeader& header = segment_.header();
  const std::string& net = settings_.text(SettingId::kNet);
  const Proposal mine = propose_on_host(net, !is_network_everywhere(settings_));
  for (std::uint32_t proc = 0; header.is_whole_job() && proc < procs();
       ++proc) {
    const Proposal other =
        segment_.published(proc).proposal.load(std::memory_order_relaxed);
    if (fit_on_host(mine, other)) {
      continue;
    }
    const std::string_view named = network_of(
        other, settings_table()[static_cast<int>(SettingId::kNet)].choices);
    if (named == net) {
      log_unlike_sharing(proc);
    } else {
      log_error(
          "ACP_NET is {} here, and {} on rank {}: give all ranks the same "
          "ACP_NET, in acprun's environment or by --acp-envnet",
          net, named, proc);
    }
    return false;
  }
  return true;
}

void Task::log_unlike_sharing(std::uint32_t proc) const {
  log_error(
      "ranks {} and {} are on one host, and only one of them shares memory "
      "there: give all ranks the same ACP_SHM and ACP_NET",
      bootstrap_->proc(), proc);
}

/// A barrier would not end where only some ranks of a host share memory.
bool Task::sharing_agrees() const {
  for (std::uint32_t slot = 0; slot < segment_.header().local_procs; ++slot) {
    const std::uint32_t proc = segment_.record(slot).proc;
    if (segment_.published(proc).leader.load(std::memory_order_relaxed) !=
        leader_of(proc)) {
      log_unlike_sharing(proc);
      return false;
    }
  }
  return true;
}

/// Meets all ranks. Each rank has opened the parts by which peers reach it.
Status Task::start() {
  const std::uint32_t proc = bootstrap_->proc();
  protocol::PublishedRecord& published = segment_.published(proc);
  published.modules.store(modules_.fingerprint(), std::memory_order_relaxed);
  published.leader.store(leader_of(proc), std::memory_order_relaxed);
  if (segment_.header().is_whole_job()) {  // else network_choice.cc has done it
    published.proposal.store(propose_on_host(settings_.text(SettingId::kNet),
                                             !is_network_everywhere(settings_)),
                             std::memory_order_relaxed);
  }
  if (const Status status = bootstrap_->arrive(protocol::Phase::kInit);
      status != Status::kOk) {
    return status;
  }
  if (!modules_agree()) {
    return Status::kInvalidArgument;
  }
  if (!networks_agree() || !sharing_agrees()) {
    return Status::kBadOption;
  }
  if (const Status status = progress_->start(); status != Status::kOk) {
    return status;
  }
  protocol::ProcRecord& record = segment_.record(slot_);
  record.state.store(
      static_cast<std::uint32_t>(protocol::ProcState::kInitialized),
      std::memory_order_relaxed);
  waits_.leave();
  return Status::kOk;
}

/// A barrier that needs nothing of this library to work.
Status Task::collective() {
  return bootstrap_->arrive(protocol::Phase::kCollective);
}

/// Waits until nothing of mine is under way.
Status Task::drain(protocol::WaitKind kind) {
  gma::WaitPurpose purpose;
  purpose.kind = kind;
  const Status status =
      gma::wait_until(*progress_, purpose, TimePoint::max(), [this] {
        const gma::OrderQueue& queue = engine_->queue();
        return queue.completed() == queue.issued() && !engine_->has_internal();
      });
  gma::settle_stores();
  return status;
}

/// A rank in acp_finalize calls acp_sync for its modules only, and then never
/// again. It tells other ranks of both changes, so that no rank waits for it in
/// vain. No rank stops answering before every rank has come here.
Status Task::leave() {
  const gma::CallScope call("acp_finalize");  // modules may call acp_sync
  sync_->begin_finalize();
  // A bad health or a missed barrier has been logged already.
  const bool is_well =
      progress_->health() == Status::kOk && !sync_->is_out_of_step();
  modules_.fini(is_well ? LogLevel::kWarning : LogLevel::kDebug);
  const Status drained = drain(protocol::WaitKind::kFinalize);
  if (drained != Status::kOk) {
    return drained;
  }
  waits_.enter(protocol::WaitKind::kFinalize, protocol::kNoSlot);
  sync_->end_modules();
  // The progress thread goes on answering until every rank is done.
  const Status met = bootstrap_->arrive(protocol::Phase::kFinalize);
  if (met != Status::kOk) {
    return met;
  }
  progress_->stop();
  if (counters_ != nullptr) {
    counters_->end();
  }
  sync_->log_counts();
  log_held_lines();
  tell_errors();
  segment_.record(slot_).state.store(
      static_cast<std::uint32_t>(protocol::ProcState::kFinalized),
      std::memory_order_relaxed);
  bootstrap_->finalized();
  return Status::kOk;
}

Status Task::finalize() {
  return end_after("acp_finalize", leave());
}

/// The other ranks would wait for a rank that has failed to leave. And its
/// program may return 0, so the job ends here, with another status. Where the
/// launcher cannot be told, it learns it from the status of this process.
Status Task::end_after(const char* function, Status status) {
  if (status == Status::kOk || protocol::is_ending(segment_)) {
    return status;
  }
  const std::string why =
      fmt::format("{} has failed: {}", function, status_text(status));
  if (!bootstrap_->abort(1, why)) {
    flush_output();
    log_error("{}; {} cannot be told, so this process ends with status 1", why,
              bootstrap_->name());
    end_process();
  }
  return status;
}

/// The ranks compare their modules again, as in start(). The first barrier is
/// for that comparison: a slower rank may still be in it.
Status Task::join_program() {
  const gma::CallScope call("acp_init");
  Status status = modules_.lay_out(segment_.header().module_bytes);
  if (status != Status::kOk) {
    return status;
  }
  waits_.enter(protocol::WaitKind::kInit, protocol::kNoSlot);
  status = collective();
  segment_.published(bootstrap_->proc())
      .modules.store(modules_.fingerprint(), std::memory_order_relaxed);
  status = status == Status::kOk ? collective() : status;
  waits_.leave();
  if (status != Status::kOk) {
    return status;
  }
  return modules_agree() ? modules_.init() : Status::kInvalidArgument;
}

Status Task::leave_program() {
  const gma::CallScope call("acp_finalize");
  return end_after("acp_finalize", leave_modules());
}

Status Task::leave_modules() {
  modules_.fini_of_program();
  const Status drained = drain(protocol::WaitKind::kFinalize);
  if (drained != Status::kOk) {
    return drained;
  }
  waits_.enter(protocol::WaitKind::kFinalize, protocol::kNoSlot);
  const Status met = collective();
  waits_.leave();
  return met;
}

/// All ranks meet in acp_reset. They agree on the new numbers next, and a
/// number that is not good leaves everything as it was. Then the modules end,
/// all ranks change their number between two barriers, and the modules begin
/// again.
Status Task::reset(int new_rank) {
  const gma::CallScope call("acp_reset");
  // The other ranks would wait in the open barrier, and this one in acp_reset.
  if (sync_->has_timed_out()) {
    log_error(
        "acp_reset: the last acpx_sync_timeout of this rank timed out, and its "
        "barrier is still open; call acp_sync or acpx_sync_timeout until one "
        "returns 0, then acp_reset");
    return Status::kAgain;
  }
  if (const Status status = drain(protocol::WaitKind::kReset);
      status != Status::kOk) {
    return status;
  }
  // Only a wait of the library can end when a rank is in another call.
  if (const Status status = sync_->begin_reset(); status != Status::kOk) {
    return status;
  }
  waits_.enter(protocol::WaitKind::kReset, protocol::kNoSlot);
  Status status = agree_on_rank(new_rank);
  if (status == Status::kOk) {
    modules_.fini();
    status = drain(protocol::WaitKind::kReset);
    status = status == Status::kOk ? collective() : status;
    if (status == Status::kOk) {
      take_new_rank(static_cast<gmm::Rank>(new_rank));
      status = collective();
    }
  }
  waits_.leave();
  return status == Status::kOk ? modules_.init() : status;
}

/// kBadRank, logged: the ranks have agreed to keep their numbers.
Status Task::agree_on_rank(int new_rank) {
  renumbering_.propose(new_rank);
  Status status = collective();
  if (status == Status::kOk) {
    sync_->note_met_in_reset();
    renumbering_.decide();
  }
  status = status == Status::kOk ? collective() : status;
  if (status == Status::kOk && !renumbering_.is_good()) {
    log_error(
        "acp_reset({}): the new numbers of all ranks are not 0 to {}, "
        "each once; the old numbers stay",
        new_rank, procs() - 1);
    return Status::kBadRank;
  }
  return status;
}

/// Between two barriers: no rank has anything under way.
void Task::take_new_rank(gmm::Rank rank) {
  const protocol::HostHeader& header = segment_.header();
  engine_->reset(rank);
  own_regions_->forget_all();
  if (counters_ != nullptr) {
    counters_->forget_ranks();
  }
  sync_->reset();
  clear_memory(space().my_slice() + header.starter_offset,
               header.starter_bytes);
  clear_memory(space().my_slice() + header.module_offset,
               protocol::kRuntimeAreaBytes + header.module_bytes);
  own_regions_->add_library_memory();
  renumbering_.take();
  set_identity();
}

void Task::set_identity() {
  const std::uint32_t rank =
      segment_.record(slot_).rank.load(std::memory_order_relaxed);
  set_log_prefix(fmt::format("rank {} on {}", rank, host_name()));
}

void Task::abort(std::string_view text, int error) {
  const std::string reason =
      error == 0 ? ""
                 : fmt::format(" (acp_errno {}: {})", error,
                               status_text(static_cast<Status>(error)));
  const std::string why = fmt::format("acp_abort: {}{}", text, reason);
  flush_output();
  log_last_words(why);
  leave_aborted(why);
}

/// An error of another thread at the same time may store the smaller number.
/// The next error mends that, and so does the end of acp_finalize.
void Task::tell_errors() noexcept {
  segment_.record(slot_).errors.store(logged_errors(),
                                      std::memory_order_relaxed);
}

void Task::abort_after_error(std::string_view text) {
  flush_output();
  leave_aborted(text);
}

void Task::leave_aborted(std::string_view why) {
  log_held_lines();
  deliver_log(kLastLinesLimit);
  (void)bootstrap_->abort(1, why);
  end_process();
}

void Task::end_process() {
  log_held_lines();
  deliver_log(kLastLinesLimit);
  // The job ends even if this waits for a stream that another thread holds.
  std::fflush(nullptr);
  ::_exit(1);
}

gmm::GlobalAddress Task::starter(gmm::Rank rank) const noexcept {
  return space().codec().encode(rank, 0, gmm::kStarterKey, 0, 0);
}

Result<gmm::GlobalAddress> Task::module_memory(int module, int rank) const {
  if (rank < 0 || static_cast<std::uint32_t>(rank) >= procs()) {
    return Status::kBadRank;
  }
  const Result<std::uint64_t> offset = modules_.offset(module);
  if (!offset.ok()) {
    return offset.status();
  }
  return space().codec().encode(static_cast<gmm::Rank>(rank), 0,
                                gmm::kModuleKey, 0,
                                protocol::kRuntimeAreaBytes + offset.value());
}

}  // namespace acp::runtime
