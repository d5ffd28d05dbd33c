// Memory that a device has registered, and the rkey by which a peer reaches it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/little_endian.h"
#include "transport/registrations/control_frames.h"
#include "verbs/resource.h"

namespace acp::verbs {

/// Owns the memory region of libibverbs that makes a registration. False: the
/// device has refused.
struct MemoryHandle {
  MemoryRegion memory{};

  explicit operator bool() const noexcept { return memory != nullptr; }

  std::vector<std::byte> packed_rkey() const {
    std::vector<std::byte> bytes(sizeof memory->rkey);
    store_little(bytes.data(), memory->rkey);
    return bytes;
  }
};

/// The rkey that packed_rkey() of a peer has packed; nothing of other bytes.
inline std::optional<std::uint32_t> unpack_rkey(
    std::span<const std::byte> bytes) noexcept {
  return bytes.size() == sizeof(std::uint32_t)
             ? std::optional(load_little<std::uint32_t>(bytes.data()))
             : std::nullopt;
}

using Regions = transport::Regions<MemoryHandle>;
using MyRegion = transport::MyRegion<MemoryHandle>;
using ControlFrames = transport::ControlFrames<MemoryHandle, std::uint32_t>;
using PeerRegistration = transport::PeerRegistration<std::uint32_t>;
using transport::Feasible;

}  // namespace acp::verbs
