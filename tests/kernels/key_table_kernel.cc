// The key table under all schedules: its owner ends a region and begins another
// one in its entry, while other threads look the old one up and copy. The
// invariants are in docs/host_segment.md and gmm/cross_copy_guard.h.
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "gmm/cross_copy_guard.h"
#include "gmm/key_table.h"
#include "kernels/kernel_memory.h"
#include "kernels/program.h"

namespace kernels {

namespace {

using acp::Result;
using acp::Status;
using acp::gmm::AddressSpace;
using acp::gmm::GlobalAddress;
using acp::gmm::Target;

constexpr std::uint32_t kOwner = 0;
constexpr std::uint32_t kPeer = 1;
constexpr std::uint32_t kEntry = kKeys - 1;  ///< That both regions have.
constexpr std::size_t kWords = 8;
constexpr std::size_t kOldBytes = kWords * sizeof(std::uint64_t);
constexpr std::size_t kNewBytes = kOldBytes / 2;

/// Thread 0 is the owner. All entries but one are in use, so the next region
/// takes the entry of the region that has ended last.
class Regions : public Program {
 public:
  Regions()
      : segment_(new_segment(2)),
        keys_(std::in_place, segment_, kOwner),
        owner_(segment_, kOwner, kOwner, 1, acp::gmm::Reach::kHost),
        peer_(segment_, kPeer, kPeer, 1, acp::gmm::Reach::kHost) {
    for (std::uint32_t i = acp::gmm::kFirstUserKey; i < kEntry; ++i) {
      (void)keys_->add(kOwner, 0, &unused_, sizeof unused_);
    }
    old_ = add(old_memory_.data(), kOldBytes);
    const acp::protocol::KeyEntry& entry = segment_.keys(kOwner)[kEntry];
    name_memory(&entry.state, 8, "state");
    name_memory(&entry.base, 8, "base");
    name_memory(&entry.size, 8, "size");
    name_memory(&entry.cross_copies, 8, "cross_copies");
    name_memory(old_memory_.data(), kOldBytes, "old region");
  }

  std::size_t threads() const override { return 2; }

  void run(std::size_t thread) override {
    thread == kOwner ? replace() : look_up();
  }

 protected:
  virtual void look_up() = 0;

  virtual void replace() {
    end_old();
    new_ = add(new_memory_.data(), kNewBytes);
  }

  void end_old() {
    expect(keys_->remove(kOwner, old_) == Status::kOk, "the region is live");
  }

  GlobalAddress add(void* memory, std::size_t size) {
    return keys_->add(kOwner, 0, memory, size).value();
  }

  /// The address of the first byte of the old region.
  GlobalAddress old_begin() const {
    return old_ + (old_address() & (acp::gmm::kBaseAlignment - 1));
  }

  std::uintptr_t old_address() const {
    return reinterpret_cast<std::uintptr_t>(old_memory_.data());
  }

  const acp::protocol::HostSegment& segment_;
  std::optional<acp::gmm::KeyTable> keys_;
  AddressSpace owner_;
  AddressSpace peer_;
  GlobalAddress old_ = 0;
  GlobalAddress new_ = 0;
  std::array<std::byte, 8> unused_{};
  std::array<std::uint64_t, kWords> old_memory_{};
  std::array<std::uint64_t, kWords> new_memory_{};
};

/// A peer looks the old region up while the owner replaces it.
class PeerLooksUp : public Regions {
 protected:
  void look_up() override {
    for (int i = 0; i < 2; ++i) {
      const Result<Target> target = peer_.locate(old_begin(), kOldBytes);
      expect(target.ok() ? target.value().owner_address == old_address()
                         : target.status() == Status::kBadKey,
             "a key entry is read whole or not at all, and a stale key has "
             "another generation");
    }
  }
};

/// A peer looks the new region up as soon as it learns its address, which no
/// order brings.
class PeerLooksUpNew : public Regions {
 protected:
  void look_up() override {
    const GlobalAddress key = known_.load(std::memory_order_relaxed);
    if (key == 0) {
      return;
    }
    const auto begin = reinterpret_cast<std::uintptr_t>(new_memory_.data());
    const Result<Target> target =
        peer_.locate(key + (begin & (acp::gmm::kBaseAlignment - 1)), kNewBytes);
    expect(target.ok() ? target.value().owner_address == begin
                       : target.status() == Status::kBadKey,
           "a key entry is read whole or not at all");
  }

  void replace() override {
    Regions::replace();
    known_.store(new_, std::memory_order_relaxed);
  }

 private:
  std::atomic<GlobalAddress> known_{0};
};

/// Another thread of the owner's process looks the old region up.
class OwnerLooksUp : public Regions {
 protected:
  void look_up() override {
    for (int i = 0; i < 2; ++i) {
      const std::byte* at = owner_.direct(old_begin(), kOldBytes);
      expect(at == nullptr ||
                 reinterpret_cast<std::uintptr_t>(at) == old_address(),
             "a key entry is read whole or not at all, and a stale key has "
             "another generation");
    }
  }
};

/// A peer copies to the old region, without its owner. The owner uses the
/// memory again when the region has ended.
class CrossCopy : public Regions {
 protected:
  void look_up() override {
    const Result<Target> target = peer_.locate(old_begin(), kOldBytes);
    if (!target.ok()) {
      return;
    }
    const acp::gmm::CrossCopyGuard guard(target.value());
    if (guard.is_live()) {
      old_memory_[0] = 1;
      old_memory_[kWords - 1] = 1;
    }
  }

  void replace() override {
    end_old();
    while (keys_->has_cross_copies(kEntry)) {
      // Until the copies that have begun are over.
    }
    expect(old_memory_[0] == old_memory_[kWords - 1],
           "no copy is under way when the region has ended");
    old_memory_.fill(2);
    new_ = add(old_memory_.data(), kNewBytes);
  }
};

}  // namespace

std::vector<Case> all_cases() {
  return {
      make_case<PeerLooksUp>("peer_looks_up", 4),
      make_case<PeerLooksUpNew>("peer_looks_up_new", 4),
      make_case<OwnerLooksUp>("owner_looks_up", 4),
      make_case<CrossCopy>("cross_copy", 4),
  };
}

}  // namespace kernels
