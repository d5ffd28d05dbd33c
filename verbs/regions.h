// This process's memory as its devices know it. It is registered when peers or
// posted steps use it, and released when nothing uses it any more.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "transport/transport.h"
#include "verbs/device.h"
#include "verbs/resource.h"

namespace acp::verbs {

class Endpoint;

/// Size of a registration. Registering pins memory and takes time, and much of
/// a large region may never be used.
inline constexpr std::uint64_t kRegistrationBytes = 16 << 20;
inline constexpr std::uint64_t kSparseRegistrationBytes = 2 << 20;

/// One entry of the key table. Owned by Regions, written by it and by the
/// endpoints that use it; guarded by the engine's lock.
class MyRegion {
 public:
  explicit MyRegion(const transport::Region& region) : region_(region) {}

  const transport::Region& region() const noexcept { return region_; }

  /// A step begins or ends to use the memory locally.
  void begin_use() noexcept { ++uses_; }

  void end_use() noexcept { --uses_; }

 private:
  friend class Regions;

  struct Registration {
    MemoryRegion registered;
    bool has_failed = false;
  };

  transport::Region region_;
  bool is_live_ = true;             ///< Not unregistered yet.
  std::uint32_t uses_ = 0;          ///< Local uses by batched or posted steps.
  std::vector<Endpoint*> holders_;  ///< Their peers may use it.
  std::vector<std::vector<Registration>>
      registrations_;  ///< By color, then by offset.
};

/// A window: a part of a region that is one registration.
struct Window {
  std::byte* address = nullptr;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;            ///< Offset in a global address.
  const ibv_mr* registered = nullptr;  ///< Null: it cannot be registered.
};

/// One thread at a time; guarded by the engine's lock. Must end before the
/// devices.
class Regions {
 public:
  explicit Regions(transport::Color colors) : colors_(colors) {}

  void add(const transport::Region& region);

  /// Same contract as Transport::on_unregistered.
  bool remove(std::uint32_t key, std::uint64_t state);

  /// Same contract as Transport::forget_regions.
  void forget();

  /// Number of resets so far.
  std::uint32_t epoch() const noexcept { return epoch_; }

  /// The live region of a key; null when there is none.
  MyRegion* live(std::uint32_t key) const noexcept {
    return key < live_.size() ? live_[key] : nullptr;
  }

  /// The window of `device` that holds a byte of the region; registers it when
  /// needed. If the device or the system refuses, `registered` is null, and the
  /// first refusal is logged.
  Window window(Device& device, MyRegion& mine, const std::byte* address);

  /// The peer of an endpoint has been told of a region, has dropped it, or is
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
