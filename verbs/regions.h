// This process's memory as its devices know it: registered where peers or
// posted steps use it, and released when nobody does any more.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "transport/transport.h"
#include "verbs/device.h"
#include "verbs/resource.h"

namespace acp::verbs {

class Endpoint;

/// Memory is registered by so much, as it is used: registering pins it, takes
/// time, and much of a large region may never be touched.
inline constexpr std::uint64_t kRegistrationBytes = 16 << 20;
inline constexpr std::uint64_t kSparseRegistrationBytes = 2 << 20;

/// One entry of the key table. Owned by Regions; stays as long as it is used.
class MyRegion {
 public:
  explicit MyRegion(const transport::Region& region) : region_(region) {}

  const transport::Region& region() const noexcept { return region_; }

  /// A posted step begins or ends to use the memory at this side.
  void begin_use() noexcept { ++uses_; }

  void end_use() noexcept { --uses_; }

 private:
  friend class Regions;

  struct Registration {
    MemoryRegion registered;
    bool has_failed = false;
  };

  transport::Region region_;
  bool is_live_ = true;
  std::uint32_t uses_ = 0;
  std::vector<Endpoint*> holders_;  ///< Were told of it and may use it.
  std::vector<std::vector<Registration>>
      registrations_;  ///< By color, then by listen_address.
};

/// A part of a region that is one registration.
struct Window {
  std::byte* address = nullptr;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;  ///< As in a global address.
  const ibv_mr* registered = nullptr;
};

/// One thread at a time. Must end before the devices.
class Regions {
 public:
  explicit Regions(transport::Color colors) : colors_(colors) {}

  void add(const transport::Region& region);

  /// As Transport::on_unregistered.
  bool remove(std::uint32_t key, std::uint64_t state);

  /// As Transport::forget_regions.
  void forget();

  /// Resets so far.
  std::uint32_t epoch() const noexcept { return epoch_; }

  /// Null when there is none.
  MyRegion* live(std::uint32_t key) const noexcept {
    return key < live_.size() ? live_[key] : nullptr;
  }

  /// The registration with `device` that holds a byte of the region; makes it
  /// when there is none. Nothing registered: the device or the system does not
  /// want it, told once.
  Window window(Device& device, MyRegion& mine, const std::byte* address);

  /// The peer of a endpoint has been told of a region, has dropped it, or is
  /// gone.
  void add_holder(MyRegion& mine, Endpoint& endpoint);
  void drop_holder(std::uint32_t key,
                   std::uint64_t state,
                   const Endpoint& endpoint);
  void drop_holder(const Endpoint& endpoint);

 private:
  transport::Color colors_;
  std::vector<std::unique_ptr<MyRegion>> all_;
  std::vector<MyRegion*> live_;  ///< By key.
  std::uint32_t epoch_ = 0;
  bool has_warned_ = false;
};

}  // namespace acp::verbs
