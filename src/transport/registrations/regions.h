// This process's memory as a network knows it. It is registered when peers or
// posted steps use it, and released after the last use.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/log.h"
#include "transport/registrations/control.h"
#include "transport/transport.h"

namespace acp::transport {

/// Most bytes of a registration. Registering pins memory and takes time, and
/// much of a large region may never be used.
inline constexpr std::uint64_t kRegistrationBytes = 16 << 20;
inline constexpr std::uint64_t kSparseRegistrationBytes = 2 << 20;

/// Registrations of an announcement. The peer asks for further ones.
inline constexpr std::size_t kMaxAnnounced = 4;

/// An endpoint whose peer has been told of regions.
class Holder {
 public:
  Holder() = default;
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  /// Asks the peer to drop the region's registrations and to confirm that.
  virtual void revoke(const Region& region) = 0;

 protected:
  ~Holder() = default;
};

/// One entry of the key table. Owned by Regions, written by it and by the
/// endpoints that use it; guarded by the engine's mutex. A `MemoryHandle` owns
/// what a network has made to register memory. It converts to false when the
/// network has refused, and packed_rkey() gives the bytes by which a peer
/// reaches the memory.
template <typename MemoryHandle>
class MyRegion {
 public:
  MyRegion(const Region& region, Color colors)
      : region_(region), registrations_(colors) {}

  const Region& region() const noexcept { return region_; }

  /// The offset of a byte of the region, as in a global address.
  std::uint64_t offset_of(const std::byte* address) const noexcept {
    return skew() + static_cast<std::uint64_t>(address - region_.address);
  }

  bool has(std::uint64_t offset) const noexcept {
    return offset - skew() < region_.size;
  }

  /// A part of a step begins or ends to use the memory locally.
  void begin_use() noexcept { ++uses_; }

  void end_use() noexcept { --uses_; }

 private:
  template <typename>
  friend class Regions;

  /// One for each registration of the region, made at its first use. Written by
  /// Regions::own_registration().
  struct Registration {
    MemoryHandle memory_handle{};
    bool has_failed = false;  ///< It is not tried again.
  };

  /// The offset of the first byte.
  std::uint64_t skew() const noexcept {
    return reinterpret_cast<std::uintptr_t>(region_.address) &
           (kOffsetAlignment - 1);
  }

  Region region_;  ///< Written by the constructor alone.
  /// Not unregistered yet. Written by Regions::remove().
  bool is_live_ = true;
  /// Local uses by parts of steps. Endpoints count by begin_use() and
  /// end_use().
  std::uint32_t uses_ = 0;
  /// Their peers may use it. Regions::answer() adds, and drop_holder() removes.
  std::vector<Holder*> holders_;
  /// By color, then by offset. Written by Regions::own_registration().
  std::vector<std::vector<Registration>> registrations_;
};

/// A registration of a region of this process. Plain value.
template <typename MemoryHandle>
struct OwnRegistration {
  std::byte* address = nullptr;
  std::uint64_t size = 0;
  std::uint64_t offset = 0;  ///< Offset in a global address.
  /// Null when the network refuses the memory. Valid as long as the region.
  const MemoryHandle* memory_handle = nullptr;
};

/// One thread at a time; guarded by the engine's mutex. Must end before its
/// registrars. A *registrar* has color() and register_memory(address,
/// size, level), which logs a refusal at that level.
template <typename MemoryHandle>
class Regions {
 public:
  using Mine = MyRegion<MemoryHandle>;

  explicit Regions(Color colors) : colors_(colors) {}

  void add(const Region& region) {
    Mine& mine = *all_.emplace_back(std::make_unique<Mine>(region, colors_));
    if (live_.size() <= region.key) {
      live_.resize(region.key + 1);
    }
    live_[region.key] = &mine;
  }

  /// Keeps the contract of Transport::on_unregistered. The first call revokes
  /// the region at its holders. The region ends when none of them and no step
  /// uses it any more.
  bool remove(std::uint32_t key, std::uint64_t state) {
    const auto found = std::ranges::find_if(all_, [&](const auto& each) {
      return each->region_.key == key && each->region_.state == state;
    });
    if (found == all_.end()) {
      return true;
    }
    Mine& mine = **found;
    if (mine.is_live_) {
      mine.is_live_ = false;
      live_[key] = nullptr;
      for (Holder* holder : mine.holders_) {
        holder->revoke(mine.region_);
      }
    }
    if (mine.uses_ != 0 || !mine.holders_.empty()) {
      return false;
    }
    all_.erase(found);
    return true;
  }

  /// Keeps the contract of Transport::forget_regions.
  void forget() {
    ++epoch_;
    live_.clear();
    all_.clear();
  }

  /// Number of resets so far.
  std::uint32_t epoch() const noexcept { return epoch_; }

  /// The live region of a key; null when there is none.
  Mine* live(std::uint32_t key) const noexcept {
    return key < live_.size() ? live_[key] : nullptr;
  }

  /// Finds the region of the step's local memory; null when it has none. False:
  /// the memory is of no live region.
  bool find_local(const RemoteStep& step, Mine*& mine) const noexcept {
    mine = step.local_memory == nullptr ? nullptr : live(step.local_key);
    return (mine == nullptr) == (step.local_memory == nullptr);
  }

  /// The region that a byte of this process is in, live or still in use; null
  /// when there is none.
  const Mine* holding(const std::byte* byte) const noexcept {
    for (const auto& each : all_) {
      const Region& region = each->region_;
      if (byte >= region.address && byte < region.address + region.size) {
        return each.get();
      }
    }
    return nullptr;
  }

  /// The registration that holds a byte of the region. Its first use registers
  /// it. Registrations are divided at multiples of `bytes` of the offset in a
  /// global address, so no aligned word lies in two of them.
  OwnRegistration<MemoryHandle> own_registration(auto& registrar,
                                                 Mine& mine,
                                                 std::uint64_t offset) {
    const Region& region = mine.region_;
    const std::uint64_t bytes =
        region.is_sparse ? kSparseRegistrationBytes : kRegistrationBytes;
    const std::uint64_t skew = mine.skew();
    const std::uint64_t end = skew + region.size;
    auto& registrations = mine.registrations_[registrar.color()];
    if (registrations.empty()) {
      registrations.resize((end + bytes - 1) / bytes);
    }
    auto& [memory_handle, has_failed] = registrations[offset / bytes];
    OwnRegistration<MemoryHandle> own;
    own.offset = std::max(offset / bytes * bytes, skew);
    own.size = std::min((offset / bytes + 1) * bytes, end) - own.offset;
    own.address = region.address + (own.offset - skew);
    if (!memory_handle && !has_failed) {
      memory_handle = registrar.register_memory(
          own.address, own.size,
          has_warned_ ? LogLevel::kDebug : LogLevel::kWarning);
      has_failed = !memory_handle;
      has_warned_ = has_warned_ || has_failed;
    }
    own.memory_handle = has_failed ? nullptr : &memory_handle;
    return own;
  }

  /// The answer to a kWant: the registration, or size 0 if the peer may not
  /// reach the byte in this color. `holder` becomes a holder of the region.
  Control answer(const Control& want,
                 auto& registrar,
                 bool has_any_color,
                 Holder& holder) {
    Control told{.kind = ControlKind::kRegistration,
                 .key = want.key,
                 .offset = want.offset};
    Mine* mine = live(want.key);
    if (mine == nullptr || !mine->has(want.offset) ||
        (mine->region_.color != registrar.color() && !has_any_color)) {
      return told;
    }
    const auto own = own_registration(registrar, *mine, want.offset);
    told.state = mine->region_.state;
    told.offset = own.offset;
    if (own.memory_handle != nullptr) {
      told.rkey = own.memory_handle->packed_rkey();
      told.size = own.size;
      told.address = reinterpret_cast<std::uintptr_t>(own.address);
      add_holder(*mine, holder);
    }
    return told;
  }

  /// The announcement of a region's bytes to the peer of `holder`, one frame
  /// for each registration. Empty when the peer was told of the region before:
  /// so at most kMaxAnnounced frames for each region wait for room.
  std::vector<Control> announce(const LocalBytes& bytes,
                                auto& registrar,
                                bool has_any_color,
                                Holder& holder) {
    std::vector<Control> frames;
    const Mine* mine = live(bytes.key);
    if (mine == nullptr ||
        std::ranges::find(mine->holders_, &holder) != mine->holders_.end()) {
      return frames;
    }
    const std::uint64_t end = bytes.offset + bytes.size;
    std::uint64_t next = bytes.offset;
    while (next < end && frames.size() < kMaxAnnounced) {
      Control told = answer({.key = bytes.key, .offset = next}, registrar,
                            has_any_color, holder);
      if (told.size == 0) {
        break;
      }
      told.kind = ControlKind::kAnnounce;
      next = told.offset + told.size;
      frames.push_back(std::move(told));
    }
    return frames;
  }

  /// The peer of a holder has dropped a region.
  void drop_holder(std::uint32_t key,
                   std::uint64_t state,
                   const Holder& holder) {
    for (const auto& each : all_) {
      // A live region was told again; this answer is about its former use.
      if (each->region_.key == key && each->region_.state == state &&
          !each->is_live_) {
        std::erase(each->holders_, &holder);
      }
    }
  }

  /// The peer of a holder is gone.
  void drop_holder(const Holder& holder) {
    for (const auto& each : all_) {
      std::erase(each->holders_, &holder);
    }
  }

 private:
  static void add_holder(Mine& mine, Holder& holder) {
    if (std::ranges::find(mine.holders_, &holder) == mine.holders_.end()) {
      mine.holders_.push_back(&holder);
    }
  }

  // The engine's mutex guards these fields. add(), remove() and forget() write
  // the two lists.
  Color colors_;                            ///< Written by the constructor.
  std::vector<std::unique_ptr<Mine>> all_;  ///< Live ones, and those in use.
  std::vector<Mine*> live_;                 ///< By key.
  std::uint32_t epoch_ = 0;                 ///< Counted by forget().
  /// The log has a warning of a refusal. Written by own_registration().
  bool has_warned_ = false;
};

}  // namespace acp::transport
