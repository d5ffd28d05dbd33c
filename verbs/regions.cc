// Registering this process's memory, and letting it go. Called by
// VerbsTransport and Endpoint.
#include "verbs/regions.h"

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "verbs/endpoint.h"
#include "verbs/lock_limit.h"

namespace acp::verbs {

void Regions::add(const transport::Region& region) {
  MyRegion& mine = *all_.emplace_back(std::make_unique<MyRegion>(region));
  mine.registrations_.resize(colors_);
  if (live_.size() <= region.key) {
    live_.resize(region.key + 1);
  }
  live_[region.key] = &mine;
}

/// The first call revokes the region at its holders. The region ends when none
/// of them and no posted step uses it any more.
bool Regions::remove(std::uint32_t key, std::uint64_t state) {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](const auto& each) {
        return each->region_.key == key && each->region_.state == state;
      });
  if (found == all_.end()) {
    return true;
  }
  MyRegion& mine = **found;
  if (mine.is_live_) {
    mine.is_live_ = false;
    live_[key] = nullptr;
    for (Endpoint* holder : mine.holders_) {
      holder->revoke(mine.region_);
    }
  }
  if (mine.uses_ != 0 || !mine.holders_.empty()) {
    return false;
  }
  all_.erase(found);
  return true;
}

void Regions::forget() {
  ++epoch_;
  live_.clear();
  all_.clear();
}

/// Registers at first use. A registration that failed is not tried again.
Window Regions::window(Device& device,
                       MyRegion& mine,
                       const std::byte* address) {
  const transport::Region& region = mine.region_;
  const std::uint64_t registration_bytes =
      region.is_sparse ? kSparseRegistrationBytes : kRegistrationBytes;
  // Counted as in a global address, so no aligned word lies in two
  // registrations.
  const std::uint64_t skew = reinterpret_cast<std::uintptr_t>(region.address) &
                             (transport::kOffsetAlignment - 1);
  const std::uint64_t end = skew + region.size;
  std::vector<MyRegion::Registration>& registrations =
      mine.registrations_[device.color()];
  if (registrations.empty()) {
    registrations.resize((end + registration_bytes - 1) / registration_bytes);
  }
  const auto at = skew + static_cast<std::uint64_t>(address - region.address);
  MyRegion::Registration& registration = registrations[at / registration_bytes];
  Window window;
  window.offset = std::max(at / registration_bytes * registration_bytes, skew);
  window.size =
      std::min((at / registration_bytes + 1) * registration_bytes, end) -
      window.offset;
  window.address = region.address + (window.offset - skew);
  if (registration.registered == nullptr && !registration.has_failed) {
    registration.registered =
        device.register_memory(window.address, window.size);
    registration.has_failed = registration.registered == nullptr;
    if (registration.has_failed) {
      log(has_warned_ ? LogLevel::kDebug : LogLevel::kWarning,
          "verbs: registering {} bytes at {} with {}: {}; copies to and from "
          "there go as messages, which is slower; {}",
          window.size, static_cast<void*>(window.address), device.name(),
          errno_text(errno), lock_limit());
      has_warned_ = true;
    }
  }
  window.registered = registration.registered.get();
  return window;
}

void Regions::add_holder(MyRegion& mine, Endpoint& endpoint) {
  if (std::find(mine.holders_.begin(), mine.holders_.end(), &endpoint) ==
      mine.holders_.end()) {
    mine.holders_.push_back(&endpoint);
  }
}

void Regions::drop_holder(std::uint32_t key,
                          std::uint64_t state,
                          const Endpoint& endpoint) {
  for (const auto& each : all_) {
    // A live region was told again; this answer is about its former use.
    if (each->region_.key == key && each->region_.state == state &&
        !each->is_live_) {
      std::erase(each->holders_, &endpoint);
    }
  }
}

void Regions::drop_holder(const Endpoint& endpoint) {
  for (const auto& each : all_) {
    std::erase(each->holders_, &endpoint);
  }
}

}  // namespace acp::verbs
