// Registers and unregisters memory of this rank. Called by the Task for public
// functions; only remove() waits.
#include "runtime/own_regions.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "gma/progress_step_scope.h"

namespace acp::runtime {

OwnRegions::OwnRegions(gmm::KeyTable& keys,
                       gma::Engine& engine,
                       TransportSet& transports,
                       gma::WaitHost& wait_host,
                       std::uint32_t max_regions)
    : max_regions_(max_regions),
      keys_(keys),
      engine_(engine),
      transports_(transports),
      wait_host_(wait_host) {}

void OwnRegions::add_library_memory() {
  engine_.guarded([this] {
    transports_.on_registered(keys_.region(gmm::kStarterKey));
    transports_.on_registered(keys_.region(gmm::kModuleKey));
  });
}

void OwnRegions::forget_all() {
  keys_.clear();
  if (counters_ != nullptr) {
    counters_->forget_regions();
  }
  {
    const std::lock_guard lock(mutex_);
    ending_.clear();
  }
  engine_.guarded([this] { transports_.forget_regions(); });
}

/// Advice to a program whose memory cannot be a region. Pointers are smaller
/// than all global addresses. So a number whose rank exists is a global
/// address, given by mistake.
const char* OwnRegions::advise_on(const void* address) const {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  return space().codec().rank(number) < space().codec().procs()
             ? "it is a global address, and a region begins at a pointer"
             : "a region has to be readable and writable, so copy what is "
               "constant";
}

/// Refuses memory that the key table would take and that cannot be used. An
/// address that is not mapped, or not writable, would fail much later in a
/// peer's access.
Status OwnRegions::check(void* address,
                         std::size_t size,
                         int color,
                         LogLevel level) {
  if (address == nullptr || size == 0 ||
      size > UINTPTR_MAX - reinterpret_cast<std::uintptr_t>(address)) {
    log(level, "acp_register_memory({}, {}, {}): {}", address, size, color,
        address == nullptr ? "the address is NULL"
        : size == 0        ? "the size is 0"
                           : "the region ends behind the last address");
    return Status::kInvalidArgument;
  }
  if (color < 0 || static_cast<gmm::Color>(color) >= space().colors()) {
    log(level, "acp_register_memory({}, {}, {}): colors are 0 to {}", address,
        size, color, space().colors() - 1);
    return Status::kBadColor;
  }
  if (size > space().codec().max_region_bytes()) {
    return Status::kOk;  // KeyTable::add() refuses it as too large
  }
  const MemoryMap::Obstacle obstacle = memory_map_.find_obstacle(
      reinterpret_cast<std::uintptr_t>(address), size);
  if (!obstacle.text.empty()) {
    log(level, "acp_register_memory({}, {}, {}): the address {:#x} {}; {}",
        address, size, color, obstacle.address, obstacle.text,
        advise_on(address));
    return Status::kInvalidArgument;
  }
  return Status::kOk;
}

/// Checks the memory before it takes a key, so that no peer ever sees a key of
/// bad memory. The transports learn of the region before the caller does.
Result<gmm::GlobalAddress> OwnRegions::add(void* address,
                                           std::size_t size,
                                           int color,
                                           LogLevel level) {
  if (const Status status = check(address, size, color, level);
      status != Status::kOk) {
    return status;
  }
  const Result<gmm::GlobalAddress> atkey = keys_.add(
      space().my_rank(), static_cast<gmm::Color>(color), address, size);
  if (!atkey.ok()) {
    log(level,
        "acp_register_memory({}, {}, {}): {}; a region has at most {} "
        "bytes, a rank {} regions",
        address, size, color, status_text(atkey.status()),
        space().codec().max_region_bytes(), max_regions_);
    return atkey;
  }
  engine_.guarded([&] {
    transports_.on_registered(
        keys_.region(space().codec().index(atkey.value())));
  });
  note_region(size, 1);
  return atkey;
}

/// Under the engine's mutex: the agent and the engine look the key up and touch
/// the memory in one go.
Result<OwnRegions::Ended> OwnRegions::end_key(gmm::GlobalAddress atkey,
                                              std::string_view call) {
  const gmm::Rank mine = space().my_rank();
  const Result<std::uint64_t> state = keys_.state(mine, atkey);
  Status status = state.status();
  std::uint64_t bytes = 0;
  if (status == Status::kOk) {
    engine_.guarded([&] {
      bytes = keys_.bytes_of(mine, atkey);
      status = keys_.remove(mine, atkey);
    });
  }
  if (status != Status::kOk) {
    log_error("{}({:#x}): {}{}", call, atkey, status_text(status),
              keys_.describe_region(mine, atkey));
    return status;
  }
  note_region(bytes, -1);
  return Ended{atkey, space().codec().index(atkey), state.value()};
}

/// Transports may use the region, here and at peers, and peers of this host may
/// copy from it by themselves.
bool OwnRegions::is_released(const Ended& region) {
  bool is_free = false;
  engine_.guarded([&] {
    is_free = transports_.on_unregistered(region.index, region.state);
  });
  return is_free && !keys_.has_cross_copies(region.index);
}

/// The key ends first, so that no new access begins. Then this waits for the
/// accesses that are under way. No progress step runs meanwhile: a step may
/// want a lock that this caller holds, and callers do not expect this to wait.
Status OwnRegions::remove(gmm::GlobalAddress atkey) {
  const Result<Ended> region = end_key(atkey, "acp_unregister_memory");
  if (!region.ok()) {
    return region.status();
  }
  const gma::ProgressStepScope no_steps;
  gma::WaitPurpose purpose;
  purpose.kind = protocol::WaitKind::kComplete;
  return gma::wait_until(wait_host_, purpose, TimePoint::max(),
                         [&] { return is_released(region.value()); });
}

/// The first call ends the key. A region that is not released then is kept,
/// since the key table does not know the key any more. In the largest jobs a
/// new region may get the same key meanwhile; a live key is a new region's.
Result<bool> OwnRegions::try_remove(gmm::GlobalAddress atkey) {
  const std::lock_guard lock(mutex_);
  auto found = std::ranges::find(ending_, atkey, &Ended::atkey);
  if (found == ending_.end() || keys_.state(space().my_rank(), atkey).ok()) {
    const Result<Ended> region = end_key(atkey, "acpx_try_unregister_memory");
    if (!region.ok()) {
      return region.status();
    }
    found = ending_.insert(ending_.begin(), region.value());
  }
  const bool is_done = is_released(*found);
  if (is_done) {
    ending_.erase(found);
  }
  return is_done;
}

}  // namespace acp::runtime
