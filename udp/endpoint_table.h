// Endpoints by process and color, in two levels: in a job of a million
// processes, only the pages of peers in use are allocated.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/assert.h"
#include "udp/address_card.h"
#include "udp/endpoint.h"

namespace acp::udp {

/// Owns the endpoints. Guarded by the engine's mutex.
class EndpointTable {
 public:
  EndpointTable(std::uint32_t procs, transport::Color colors)
      : colors_(colors),
        pages_((std::size_t{procs} * colors + kPageEndpoints - 1) /
               kPageEndpoints) {}

  /// nullptr when there is none yet.
  Endpoint* find(transport::ProcId peer,
                 transport::Color color) const noexcept {
    const std::size_t index = index_of(peer, color);
    const auto& page = pages_[index / kPageEndpoints];
    return page == nullptr ? nullptr : (*page)[index % kPageEndpoints].get();
  }

  Endpoint* insert(std::unique_ptr<Endpoint> endpoint,
                   transport::ProcId peer,
                   transport::Color color) {
    const std::size_t index = index_of(peer, color);
    auto& page = pages_[index / kPageEndpoints];
    if (page == nullptr) {
      page = std::make_unique<Page>();
    }
    auto& entry = (*page)[index % kPageEndpoints];
    ACP_ASSERT(entry == nullptr);
    entry = std::move(endpoint);
    all_.push_back(entry.get());
    return entry.get();
  }

  /// All endpoints in the order in which they were made.
  std::span<Endpoint* const> all() const noexcept { return all_; }

 private:
  static constexpr std::size_t kPageEndpoints = 512;
  using Page = std::array<std::unique_ptr<Endpoint>, kPageEndpoints>;

  std::size_t index_of(transport::ProcId peer,
                       transport::Color color) const noexcept {
    return std::size_t{peer} * colors_ + color;
  }

  transport::Color colors_;
  // insert() adds to both lists. An endpoint stays until the table ends.
  std::vector<std::unique_ptr<Page>> pages_;
  std::vector<Endpoint*> all_;
};

}  // namespace acp::udp
