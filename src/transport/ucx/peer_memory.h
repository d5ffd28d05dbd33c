// The memory windows of which an endpoint's peer has told it, with their rkeys.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include <ucp/api/ucp.h>

namespace acp::ucx {

/// Owns an rkey.
class Rkey {
 public:
  Rkey() = default;

  explicit Rkey(ucp_rkey_h rkey) noexcept : rkey_(rkey) {}

  Rkey(Rkey&& other) noexcept : rkey_(std::exchange(other.rkey_, nullptr)) {}

  Rkey& operator=(Rkey&& other) noexcept {
    std::swap(rkey_, other.rkey_);
    return *this;
  }

  ~Rkey() {
    if (rkey_ != nullptr) {
      ucp_rkey_destroy(rkey_);
    }
  }

  ucp_rkey_h get() const noexcept { return rkey_; }

 private:
  ucp_rkey_h rkey_ = nullptr;
};

/// A window: memory of a peer that is one mapping there.
struct PeerWindow {
  std::uint32_t key = 0;
  std::uint64_t state = 0;    ///< State of the peer's key entry.
  std::uint64_t offset = 0;   ///< First byte, as in a global address.
  std::uint64_t size = 0;     ///< Bytes from there.
  std::uint64_t address = 0;  ///< First byte, in the peer.
  Rkey rkey{};
  std::uint32_t uses = 0;   ///< Operations of posted steps that use it.
  bool is_revoked = false;  ///< Dropped when `uses` is 0.
};

/// Guarded by the engine's lock. A window stays at its address until it is
/// dropped, so operations may point to it.
class PeerMemory {
 public:
  /// The window that holds the byte; null when none does.
  PeerWindow* find(std::uint32_t key, std::uint64_t offset) noexcept {
    if (last_ != nullptr && holds(*last_, key, offset)) {
      return last_;
    }
    auto found = windows_.upper_bound({key, offset});
    if (found == windows_.begin()) {
      return nullptr;
    }
    --found;
    if (!holds(found->second, key, offset)) {
      return nullptr;
    }
    last_ = &found->second;
    return last_;
  }

  /// Adds a window that the peer has told. It replaces a window at the same
  /// offset, unless that window is in use or revoked.
  void add(PeerWindow window) {
    const std::pair at{window.key, window.offset};
    const auto found = windows_.find(at);
    if (found == windows_.end()) {
      windows_.emplace(at, std::move(window));
    } else if (found->second.uses == 0 && !found->second.is_revoked) {
      found->second = std::move(window);
    }
  }

  /// Drops the windows of a region that the peer revokes. True when none is
  /// left. Otherwise call again when the last use of a window has ended.
  bool revoke(std::uint32_t key, std::uint64_t state) {
    bool is_gone = true;
    last_ = nullptr;
    for (auto at = windows_.lower_bound({key, 0});
         at != windows_.end() && at->first.first == key;) {
      PeerWindow& window = at->second;
      if (window.state != state) {
        ++at;
      } else if (window.uses != 0) {
        window.is_revoked = true;
        is_gone = false;
        ++at;
      } else {
        at = windows_.erase(at);
      }
    }
    return is_gone;
  }

  /// Drops each window when no operation uses it, as if the peer had revoked
  /// all its regions.
  void revoke_all() {
    last_ = nullptr;
    std::erase_if(windows_,
                  [](const auto& each) { return each.second.uses == 0; });
    for (auto& [at, window] : windows_) {
      window.is_revoked = true;
    }
  }

  /// Precondition: no operation that uses a window is looked at again.
  void clear() noexcept {
    windows_.clear();
    last_ = nullptr;
  }

 private:
  static bool holds(const PeerWindow& window,
                    std::uint32_t key,
                    std::uint64_t offset) noexcept {
    return window.key == key && offset - window.offset < window.size;
  }

  /// By key, then by offset.
  std::map<std::pair<std::uint32_t, std::uint64_t>, PeerWindow> windows_;
  PeerWindow* last_ = nullptr;
};

}  // namespace acp::ucx
