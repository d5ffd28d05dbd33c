#include "runtime/task.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "base/host_facts.h"
#include "base/log.h"
#include "gma/call_name.h"
#include "gma/step_scope.h"
#include "runtime/standard_output.h"
#include "settings/networks.h"
#include "transport/shm/shm_transport.h"

namespace acp::runtime {

namespace {

constexpr std::uint32_t kNoProposal = UINT32_MAX;
constexpr std::uint32_t kVerdictGood = 1;
constexpr std::uint32_t kVerdictBad = 2;

gma::WaitPolicy policy_for(const Settings& settings, bool shares_cores) {
  gma::WaitPolicy policy;
  const std::string& wait = settings.text(SettingId::kWait);
  policy.may_sleep = wait == "auto" || wait == "sleep";
  policy.yields = wait == "yield" || (wait == "auto" && shares_cores);
  if (policy.yields) {
    policy.looks = 1;
  }
  if (wait == "sleep") {
    policy.spin = Duration(0);
  }
  return policy;
}

/// Colors of a job whose ranks need no network: one per udp address, so that
/// it makes no difference where they run.
gmm::Color colors_of(const Settings& settings) {
  const std::string& list = settings.text(SettingId::kUdpAddresses);
  return list.empty() ? 1
                      : static_cast<gmm::Color>(
                            1 + std::count(list.begin(), list.end(), ','));
}

/// `net` is null where there is none.
gmm::Reach reach_for(const Settings& settings,
                     const transport::Transport* net) {
  if (net != nullptr && net->capabilities().executes_atomics) {
    return gmm::Reach::kSelfDeviceAtomics;
  }
  if (!is_network_everywhere(settings)) {
    return gmm::Reach::kHost;
  }
  return settings.text(SettingId::kAtomics) == "apart"
             ? gmm::Reach::kSelfAgentAtomics
             : gmm::Reach::kSelf;
}

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
      segment_(bootstrap_->segment()) {}

Task::~Task() {
  if (progress_ != nullptr) {
    progress_->stop();
  }
}

Status Task::join(const NetTransportFactory& make_net_transport) {
  const Status status = open(make_net_transport);
  return status == Status::kOk ? start() : status;
}

/// Everything that this process can do alone.
Status Task::open(const NetTransportFactory& make_net_transport) {
  slot_ = segment_.slot_of_proc(bootstrap_->proc());
  segment_.dump_own_slice(slot_);
  const protocol::HostHeader& header = segment_.header();
  if (header.procs > gmm::kMaxProcs) {
    log_error("{} ranks: at most {}", header.procs, gmm::kMaxProcs);
    return Status::kTooLarge;
  }
  protocol::ProcRecord& record = segment_.record(slot_);
  record.os_pid.store(static_cast<std::uint32_t>(::getpid()),
                      std::memory_order_relaxed);
  waits_.emplace(record);
  waits_->enter(protocol::WaitKind::kInit, protocol::kNoSlot);
  if (const Status status = check_module_memory(); status != Status::kOk) {
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

/// The launcher laid the slices out after the settings that it saw, and every
/// address of the job has to hold the offset of their last byte.
Status Task::check_module_memory() const {
  const protocol::HostHeader& header = segment_.header();
  if (header.module_bytes != protocol::module_bytes_for(settings_)) {
    log_error(
        "this rank's ACP_HEAP_SIZE and ACP_MODULE_MEMORY ask for {} bytes, "
        "acprun set aside {}: give acprun these settings, or none",
        protocol::module_bytes_for(settings_), header.module_bytes);
    return Status::kBadOption;
  }
  const gmm::GlobalAddressCodec codec(header.procs, header.key_slots);
  const std::uint64_t bytes = protocol::kRuntimeAreaBytes + header.module_bytes;
  if (bytes > codec.max_region_bytes()) {
    log_error(
        "ACP_HEAP_SIZE and ACP_MODULE_MEMORY: {} bytes, a region of one of {} "
        "ranks has at most {}: set ACP_HEAP_SIZE lower",
        bytes, header.procs, codec.max_region_bytes());
    return Status::kTooLarge;
  }
  return Status::kOk;
}

/// The network is used between hosts, and everywhere when it was asked for.
bool Task::wants_net() const {
  return is_network_named(settings_) || is_network_everywhere(settings_) ||
         segment_.header().local_procs < segment_.header().procs;
}

Status Task::open_transports(const NetTransportFactory& make_net_transport) {
  const std::string& net = settings_.text(SettingId::kNet);
  if (!is_network_built_in(net)) {
    log_error("network {} is not built in; this build has {}", net,
              networks_built_in());
    return Status::kUnsupported;
  }
  if (net == "shm" && is_network_everywhere(settings_)) {
    log_error(
        "ACP_NET=shm and ACP_SHM=off leave no way from rank to rank: set only "
        "one of them");
    return Status::kBadOption;
  }
  gma::WaitPolicy policy =
      policy_for(settings_, segment_.header().shares_cores());
  policy.looks = wants_net() ? 1 : policy.looks;
  progress_ =
      std::make_unique<Progress>(segment_, slot_, *doorbell_, *waits_, policy);
  transports_ = std::make_unique<TransportSet>(segment_);
  colors_ = colors_of(settings_);
  if (wants_net()) {
    auto wire = make_net_transport({settings_, segment_, bootstrap_->proc()});
    if (!wire.ok()) {
      return wire.status();
    }
    colors_ = (*wire)->capabilities().colors;
    transports_->set_net_transport(std::move(*wire));
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

Status Task::open_engine() {
  const gmm::AddressSpace space(segment_, slot_, bootstrap_->proc(), colors_,
                                reach_for(settings_, transports_->net()));
  if (colors_ > space.codec().max_colors()) {
    log_error(
        "{} colors: at most {} with {} ranks; ACP_UDP_ADDRESSES or "
        "ACP_VERBS_DEVICES chooses fewer",
        colors_, space.codec().max_colors(), procs());
    return Status::kBadOption;
  }
  engine_.emplace(space, *transports_, *doorbell_, *transports_, *progress_);
  agent_ = std::make_unique<agent::Agent>(engine_->space(), *doorbell_,
                                          *transports_);
  engine_->set_delegated_done([this](const gma::ReplyTo& to, Status status) {
    agent_->reply(to.proc, to.color, to.id, status);
  });
  transports_->attach(
      *engine_, *agent_,
      [this](TimePoint deadline) { progress_->rouse_before(deadline); },
      [this](std::string_view text) { bootstrap_->abort(1, text); });
  progress_->attach(*engine_, *transports_);
  host_barrier_ = std::make_unique<HostBarrier>(segment_, slot_, *progress_);
  net_barrier_ =
      std::make_unique<NetBarrier>(*engine_, *progress_, segment_.header());
  register_library();
  return Status::kOk;
}

/// Tells the wires of starter and module memory.
void Task::register_library() {
  engine_->guarded([this] {
    transports_->on_registered(keys_->region(gmm::kStarterKey));
    transports_->on_registered(keys_->region(gmm::kModuleKey));
  });
}

/// Different modules would make an address mean different memory.
bool Task::modules_agree() const {
  const std::uint64_t mine = modules_.fingerprint();
  for (std::uint32_t slot = 0; slot < segment_.header().local_procs; ++slot) {
    const protocol::ProcRecord& record = segment_.record(slot);
    if (record.modules.load(std::memory_order_relaxed) != mine) {
      log_error(
          "the modules of this rank and of rank {} differ: every rank has to "
          "add the same ones, with the same sizes, in the same order",
          record.rank.load(std::memory_order_relaxed));
      return false;
    }
  }
  return true;
}

/// Meets the others.
Status Task::start() {
  segment_.record(slot_).modules.store(modules_.fingerprint(),
                                       std::memory_order_relaxed);
  if (const Status status = bootstrap_->arrive(protocol::Phase::kInit);
      status != Status::kOk) {
    return status;
  }
  if (!modules_agree()) {
    return Status::kInvalidArgument;
  }
  if (const Status status = progress_->start(); status != Status::kOk) {
    return status;
  }
  protocol::ProcRecord& record = segment_.record(slot_);
  record.state.store(
      static_cast<std::uint32_t>(protocol::ProcState::kInitialized),
      std::memory_order_relaxed);
  waits_->leave();
  return Status::kOk;
}

Status Task::barrier(TimePoint deadline) {
  const bool is_one_host =
      segment_.header().local_procs == segment_.header().procs;
  return is_one_host && !is_network_everywhere(settings_)
             ? host_barrier_->wait(deadline)
             : net_barrier_->wait(deadline);
}

Status Task::sync(TimePoint deadline) {
  // Inside acp_finalize the others come to the acp_sync of their modules, too.
  const std::atomic<std::uint64_t>& leaving =
      is_finalizing_ ? segment_.header().left : segment_.header().leaving;
  const std::uint64_t number = syncs_ + (is_sync_open_ ? 0 : 1);
  progress_->enter_sync(number, leaving);
  Status status = progress_->sync_health();
  // A barrier that failed has counted this rank: it must not be counted again.
  if (status == Status::kOk) {
    engine_->show_order_to_tsan();
    syncs_ = number;
    status = barrier(deadline);
    engine_->show_order_to_tsan();
    is_sync_open_ = status != Status::kOk;
    // A module's acp_sync in the acp_finalize of another rank may have ended
    // it.
    if (status == Status::kOk && progress_->sync_health() == Status::kClosed) {
      status = Status::kClosed;
    }
  }
  if (status == Status::kClosed && !std::exchange(is_out_of_step_, true)) {
    const auto who =
        protocol::Leaving::of(leaving.load(std::memory_order_relaxed));
    log_error(
        "acp_sync, call {} of this rank: rank {} is in acp_finalize after {}; "
        "all ranks have to call it, and what calls it, equally often",
        number, who.rank, who.syncs);
  }
  return status;
}

/// In a word that looks for those with the fewest calls of acp_sync.
void Task::announce_leaving(std::atomic<std::uint64_t>& leaving) const {
  const protocol::Leaving mine{rank(), static_cast<std::uint32_t>(syncs_)};
  std::uint64_t word = leaving.load(std::memory_order_relaxed);
  while ((word == 0 || mine.misses(protocol::Leaving::of(word).syncs)) &&
         !leaving.compare_exchange_weak(word, mine.word(),
                                        std::memory_order_release,
                                        std::memory_order_relaxed)) {
  }
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

Status Task::finalize() {
  const gma::CallScope call("acp_finalize");  // modules may call acp_sync
  is_finalizing_ = true;
  announce_leaving(segment_.header().leaving);
  // Whatever made waiting senseless has been told already.
  const bool is_well = progress_->health() == Status::kOk && !is_out_of_step_;
  modules_.fini(is_well ? LogLevel::kWarning : LogLevel::kDebug);
  const Status drained = drain(protocol::WaitKind::kFinalize);
  if (drained != Status::kOk) {
    return drained;
  }
  waits_->enter(protocol::WaitKind::kFinalize, protocol::kNoSlot);
  announce_leaving(segment_.header().left);
  // The progress thread goes on answering until every rank is done.
  const Status met = bootstrap_->arrive(protocol::Phase::kFinalize);
  if (met != Status::kOk) {
    return met;
  }
  progress_->stop();
  log_held_lines();
  segment_.record(slot_).state.store(
      static_cast<std::uint32_t>(protocol::ProcState::kFinalized),
      std::memory_order_relaxed);
  bootstrap_->finalized();
  return Status::kOk;
}

Status Task::reset(int new_rank) {
  const gma::CallScope call("acp_reset");
  const bool is_in_range =
      new_rank >= 0 && static_cast<std::uint32_t>(new_rank) < procs();
  if (const Status status = drain(protocol::WaitKind::kReset);
      status != Status::kOk) {
    return status;
  }
  protocol::ProcRecord& record = segment_.record(slot_);
  waits_->enter(protocol::WaitKind::kReset, protocol::kNoSlot);
  record.proposed_rank.store(
      is_in_range ? static_cast<std::uint32_t>(new_rank) : kNoProposal,
      std::memory_order_relaxed);
  Status status = collective();
  if (status == Status::kOk && slot_ == 0) {
    segment_.header().reset_verdict.store(
        proposals_are_a_permutation() ? kVerdictGood : kVerdictBad,
        std::memory_order_relaxed);
  }
  status = status == Status::kOk ? collective() : status;
  if (status != Status::kOk) {
    return status;
  }
  if (segment_.header().reset_verdict.load(std::memory_order_relaxed) !=
      kVerdictGood) {
    waits_->leave();
    log_error(
        "acp_reset({}): the new numbers of all ranks are not 0 to {}, "
        "each once; the old numbers stay",
        new_rank, procs() - 1);
    return Status::kBadRank;
  }
  modules_.fini();
  status = drain(protocol::WaitKind::kReset);
  status = status == Status::kOk ? collective() : status;
  if (status != Status::kOk) {
    return status;
  }
  take_new_rank(static_cast<gmm::Rank>(new_rank));
  status = collective();
  waits_->leave();
  return status == Status::kOk ? modules_.init() : status;
}

bool Task::proposals_are_a_permutation() const {
  std::vector<bool> is_taken(procs(), false);
  for (std::uint32_t slot = 0; slot < segment_.header().local_procs; ++slot) {
    const std::uint32_t rank =
        segment_.record(slot).proposed_rank.load(std::memory_order_relaxed);
    if (rank >= procs() || is_taken[rank]) {
      return false;
    }
    is_taken[rank] = true;
  }
  return true;
}

/// Between two barriers: no rank has anything under way.
void Task::take_new_rank(gmm::Rank rank) {
  const protocol::HostHeader& header = segment_.header();
  engine_->reset(rank);
  keys_->clear();
  engine_->guarded([this] { transports_->forget_regions(); });
  net_barrier_->reset();
  clear_memory(space().my_slice() + header.starter_offset,
               header.starter_bytes);
  clear_memory(space().my_slice() + header.module_offset,
               protocol::kRuntimeAreaBytes + header.module_bytes);
  register_library();
  segment_.proc_of_rank()[rank].store(bootstrap_->proc(),
                                      std::memory_order_relaxed);
  segment_.slot_of_rank()[rank].store(slot_, std::memory_order_relaxed);
  segment_.record(slot_).rank.store(rank, std::memory_order_relaxed);
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
  const std::string line = fmt::format("rank {} on {}: acp_abort: {}{}", rank(),
                                       host_name(), text, reason);
  flush_output();
  std::fprintf(stderr, "acp: %s\n", line.c_str());
  leave_aborted(line);
}

void Task::abort_after_error(std::string_view text) {
  flush_output();
  leave_aborted(fmt::format("rank {} on {}: {}", rank(), host_name(), text));
}

void Task::leave_aborted(std::string_view line) {
  log_held_lines();
  bootstrap_->abort(1, line);
  // The job ends even if this waits for a stream that another thread holds.
  std::fflush(nullptr);
  ::_exit(1);
}

Status Task::check_region(void* address,
                          std::size_t size,
                          int color,
                          LogLevel level) {
  if (address == nullptr || size == 0 ||
      size > UINTPTR_MAX - reinterpret_cast<std::uintptr_t>(address)) {
    log(level, "acp_register_memory({}, {}, {}): the region is empty or wraps",
        address, size, color);
    return Status::kInvalidArgument;
  }
  if (color < 0 || static_cast<gmm::Color>(color) >= space().colors()) {
    log(level, "acp_register_memory({}, {}, {}): colors are 0 to {}", address,
        size, color, space().colors() - 1);
    return Status::kBadColor;
  }
  if (size > space().codec().max_region_bytes()) {
    return Status::kOk;  // refused as too large, whatever is there
  }
  const gmm::MemoryMap::Obstacle obstacle = memory_map_.find_obstacle(
      reinterpret_cast<std::uintptr_t>(address), size);
  if (!obstacle.text.empty()) {
    log(level,
        "acp_register_memory({}, {}, {}): the address {:#x} {}; a region has "
        "to be readable and writable, so copy what is constant",
        address, size, color, obstacle.address, obstacle.text);
    return Status::kInvalidArgument;
  }
  return Status::kOk;
}

Result<gmm::GlobalAddress> Task::register_memory(void* address,
                                                 std::size_t size,
                                                 int color,
                                                 LogLevel level) {
  if (const Status status = check_region(address, size, color, level);
      status != Status::kOk) {
    return status;
  }
  const Result<gmm::GlobalAddress> atkey =
      keys_->add(rank(), static_cast<gmm::Color>(color), address, size);
  if (!atkey.ok()) {
    log(level,
        "acp_register_memory({}, {}, {}): {}; a region has at most {} "
        "bytes, a rank {} regions",
        address, size, color, status_text(atkey.status()),
        space().codec().max_region_bytes(),
        segment_.header().key_slots - gmm::kFirstUserKey);
    return atkey;
  }
  engine_->guarded([&] {
    transports_->on_registered(
        keys_->region(space().codec().index(atkey.value())));
  });
  return atkey;
}

Status Task::unregister_memory(gmm::GlobalAddress atkey) {
  const Result<std::uint64_t> state = keys_->state(rank(), atkey);
  Status status = state.status();
  const std::uint32_t index = space().codec().index(atkey);
  const auto is_released = [&] {
    bool is_free = false;
    engine_->guarded(
        [&] { is_free = transports_->on_unregistered(index, state.value()); });
    return is_free && !keys_->has_transfers(index);
  };
  if (status == Status::kOk) {
    // Under the engine's mutex: the agent and the mover look the key up and
    // touch the memory in one go.
    engine_->guarded([&] { status = keys_->remove(rank(), atkey); });
  }
  if (status != Status::kOk) {
    log_error("acp_unregister_memory({:#x}): {}", atkey, status_text(status));
    return status;
  }
  // Transports may be at it, here and at peers, and peers of this host by
  // themselves. No progress step meanwhile: one may want a lock that this
  // caller holds, who could not know that this waits.
  const gma::StepScope no_steps;
  gma::WaitPurpose purpose;
  purpose.kind = protocol::WaitKind::kComplete;
  return gma::wait_until(*progress_, purpose, TimePoint::max(), is_released);
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
