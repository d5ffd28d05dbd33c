// This process's memory as UCX knows it. It is mapped when a peer asks for it,
// and unmapped when nothing uses it any more.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "transport/transport.h"
#include "transport/ucx/worker.h"

namespace acp::ucx {

class Endpoint;

/// Size of a mapping. Mapping may pin memory and takes time, and much of a
/// large region may never be used.
inline constexpr std::uint64_t kMappingBytes = 16 << 20;
inline constexpr std::uint64_t kSparseMappingBytes = 2 << 20;

/// One entry of the key table. Owned by Regions, written by it and by the
/// endpoints that use it; guarded by the engine's lock.
class MyRegion {
 public:
  explicit MyRegion(const transport::Region& region) : region_(region) {}

  const transport::Region& region() const noexcept { return region_; }

  /// The offset of the first byte, as in a global address.
  std::uint64_t skew() const noexcept {
    return reinterpret_cast<std::uintptr_t>(region_.address) &
           (transport::kOffsetAlignment - 1);
  }

  /// A posted step begins or ends to use the memory locally.
  void begin_use() noexcept { ++uses_; }

  void end_use() noexcept { --uses_; }

 private:
  friend class Regions;

  struct Mapping {
    MappedMemory memory{};
    std::vector<std::byte> rkey{};  ///< Packed; empty until it is mapped.
    bool has_failed = false;
  };

  transport::Region region_;
  bool is_live_ = true;                         ///< Not unregistered yet.
  std::uint32_t uses_ = 0;                      ///< Local uses by posted steps.
  std::vector<Endpoint*> holders_;              ///< Their peers may use it.
  std::vector<std::vector<Mapping>> mappings_;  ///< By color, then by offset.
};

/// A window: a part of a region that is one mapping.
struct Window {
  std::byte* address = nullptr;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;  ///< Offset in a global address.
  /// Packed rkey; null when UCX cannot map the memory. Valid as long as the
  /// region.
  const std::vector<std::byte>* rkey = nullptr;
};

/// One thread at a time; guarded by the engine's lock. Must end before the
/// workers.
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

  /// The window of a worker that holds a byte of the region; maps it when
  /// needed. A refusal of UCX is logged once, and not tried again.
  Window window(Worker& worker, MyRegion& mine, std::uint64_t offset);

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

}  // namespace acp::ucx
