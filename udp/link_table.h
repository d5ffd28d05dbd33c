// Links by process and color, in two levels: a job of a million processes of
// which a few are spoken to costs a few pages.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/assert.h"
#include "udp/card.h"
#include "udp/link.h"

namespace acp::udp {

/// Owns the links. Not thread-safe.
class LinkTable {
 public:
  LinkTable(std::uint32_t procs, transport::Color colors)
      : colors_(colors),
        pages_((std::size_t{procs} * colors + kPageLinks - 1) / kPageLinks) {}

  /// nullptr when there is none yet.
  Link* find(transport::ProcId peer, transport::Color color) const noexcept {
    const std::size_t index = index_of(peer, color);
    const auto& page = pages_[index / kPageLinks];
    return page == nullptr ? nullptr : (*page)[index % kPageLinks].get();
  }

  Link* insert(std::unique_ptr<Link> link,
               transport::ProcId peer,
               transport::Color color) {
    const std::size_t index = index_of(peer, color);
    auto& page = pages_[index / kPageLinks];
    if (page == nullptr) {
      page = std::make_unique<Page>();
    }
    auto& slot = (*page)[index % kPageLinks];
    ACP_ASSERT(slot == nullptr);
    slot = std::move(link);
    all_.push_back(slot.get());
    return slot.get();
  }

  /// In the order in which they were made.
  std::span<Link* const> all() const noexcept { return all_; }

 private:
  static constexpr std::size_t kPageLinks = 512;
  using Page = std::array<std::unique_ptr<Link>, kPageLinks>;

  std::size_t index_of(transport::ProcId peer,
                       transport::Color color) const noexcept {
    return std::size_t{peer} * colors_ + color;
  }

  transport::Color colors_;
  std::vector<std::unique_ptr<Page>> pages_;
  std::vector<Link*> all_;
};

}  // namespace acp::udp
