// Memory that UCX has mapped, and the rkey by which a peer reaches it.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <ucp/api/ucp.h>

#include "transport/registrations/control_frames.h"

namespace acp::ucx {

/// Owns memory of this process that UCX has mapped. Must end before its worker.
/// Its owner guards it: Regions, under the engine's mutex.
class MappedMemory {
 public:
  MappedMemory() = default;

  MappedMemory(ucp_context_h context, ucp_mem_h memory) noexcept
      : context_(context), memory_(memory) {}

  MappedMemory(MappedMemory&& other) noexcept { *this = std::move(other); }

  MappedMemory& operator=(MappedMemory&& other) noexcept {
    std::swap(context_, other.context_);
    std::swap(memory_, other.memory_);
    return *this;
  }

  ~MappedMemory() {
    if (memory_ != nullptr) {
      ucp_mem_unmap(context_, memory_);
    }
  }

  ucp_mem_h get() const noexcept { return memory_; }

 private:
  ucp_context_h context_ = nullptr;
  ucp_mem_h memory_ = nullptr;
};

/// Owns the memory that UCX has mapped to make a registration. False: UCX has
/// refused.
struct MemoryHandle {
  MappedMemory memory{};
  std::vector<std::byte> rkey{};  ///< Packed.

  explicit operator bool() const noexcept { return !rkey.empty(); }

  const std::vector<std::byte>& packed_rkey() const noexcept { return rkey; }
};

/// Owns an rkey of a peer. Its owner guards it: PeerMemory, under the engine's
/// mutex.
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

using Regions = transport::Regions<MemoryHandle>;
using MyRegion = transport::MyRegion<MemoryHandle>;
using ControlFrames = transport::ControlFrames<MemoryHandle, Rkey>;
using PeerRegistration = transport::PeerRegistration<Rkey>;
using transport::Feasible;

}  // namespace acp::ucx
