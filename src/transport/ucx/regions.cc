// Mapping this process's memory for peers, and letting it go. Called by
// UcxTransport and Endpoint.
#include "transport/ucx/regions.h"

#include <algorithm>

#include "base/log.h"
#include "transport/ucx/endpoint.h"

namespace acp::ucx {

void Regions::add(const transport::Region& region) {
  MyRegion& mine = *all_.emplace_back(std::make_unique<MyRegion>(region));
  mine.mappings_.resize(colors_);
  if (live_.size() <= region.key) {
    live_.resize(region.key + 1);
  }
  live_[region.key] = &mine;
}

/// The first call revokes the region at its holders. The region ends when none
/// of them and no posted step uses it any more.
bool Regions::remove(std::uint32_t key, std::uint64_t state) {
  const auto found = std::ranges::find_if(all_, [&](const auto& each) {
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

/// Windows are counted as in a global address, so no aligned word lies in two
/// of them.
Window Regions::window(Worker& worker, MyRegion& mine, std::uint64_t offset) {
  const transport::Region& region = mine.region_;
  const std::uint64_t bytes =
      region.is_sparse ? kSparseMappingBytes : kMappingBytes;
  const std::uint64_t end = mine.skew() + region.size;
  std::vector<MyRegion::Mapping>& mappings = mine.mappings_[worker.color()];
  if (mappings.empty()) {
    mappings.resize((end + bytes - 1) / bytes);
  }
  MyRegion::Mapping& mapping = mappings[offset / bytes];
  Window window;
  window.offset = std::max(offset / bytes * bytes, mine.skew());
  window.size = std::min((offset / bytes + 1) * bytes, end) - window.offset;
  window.address = region.address + (window.offset - mine.skew());
  if (mapping.rkey.empty() && !mapping.has_failed) {
    std::string why = "its rkey cannot be packed";
    mapping.memory = worker.map(window.address, window.size, why);
    if (mapping.memory.get() != nullptr) {
      mapping.rkey = worker.pack_rkey(mapping.memory);
    }
    mapping.has_failed = mapping.rkey.empty();
    if (mapping.has_failed) {
      log(has_warned_ ? LogLevel::kDebug : LogLevel::kWarning,
          "ucx: mapping {} bytes at {}: {}; copies to and from there go as "
          "messages, which is slower",
          window.size, static_cast<void*>(window.address), why);
      has_warned_ = true;
    }
  }
  window.rkey = mapping.has_failed ? nullptr : &mapping.rkey;
  return window;
}

void Regions::add_holder(MyRegion& mine, Endpoint& endpoint) {
  if (std::ranges::find(mine.holders_, &endpoint) == mine.holders_.end()) {
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

}  // namespace acp::ucx
