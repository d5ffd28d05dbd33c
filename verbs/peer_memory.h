// The memory windows of which an endpoint's peer has told it.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

namespace acp::verbs {

/// A window: memory of a peer that is one registration there.
struct PeerWindow {
  std::uint32_t key = 0;
  std::uint32_t rkey = 0;
  std::uint64_t state = 0;    ///< State of the peer's key entry.
  std::uint64_t offset = 0;   ///< First byte, as in a global address.
  std::uint64_t size = 0;     ///< Bytes from there.
  std::uint64_t address = 0;  ///< First byte, in the peer.
  std::uint32_t uses = 0;     ///< Work requests that use it, batched ones too.
  bool is_revoked = false;    ///< Dropped when `uses` is 0.
};

/// Guarded by the engine's lock. A window stays at its address until it is
/// dropped, so work requests may point to it.
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

  /// Adds a window that the peer has told. It replaces a window at the
  /// same offset, unless that window is in use or revoked.
  void add(const PeerWindow& window) {
    const auto [at, is_new] =
        windows_.try_emplace({window.key, window.offset}, window);
    if (!is_new && at->second.uses == 0 && !at->second.is_revoked) {
      at->second = window;
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

}  // namespace acp::verbs
