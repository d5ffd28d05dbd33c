// One color of the transport: a UCP context with the color's devices, and its
// worker. All UCX objects of the color belong to it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ucp/api/ucp.h>

#include "base/result.h"
#include "transport/transport.h"
#include "transport/ucx/address_card.h"

namespace acp::ucx {

/// Calls `release` with a handle of UCX and, before it, with the object that
/// owns the handle.
template <typename Handle, typename Owner>
class Owned {
 public:
  using Release = void (*)(Owner owner, Handle handle);

  Owned() = default;

  Owned(Owner owner, Handle handle, Release release)
      : owner_(owner), handle_(handle), release_(release) {}

  Owned(Owned&& other) noexcept { *this = std::move(other); }

  Owned& operator=(Owned&& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(handle_, other.handle_);
    std::swap(release_, other.release_);
    return *this;
  }

  ~Owned() {
    if (handle_ != Handle{}) {
      release_(owner_, handle_);
    }
  }

  Handle get() const noexcept { return handle_; }

 private:
  Owner owner_{};
  Handle handle_{};
  Release release_ = nullptr;
};

/// Memory of this process that UCX has mapped. Must end before its worker.
using MappedMemory = Owned<ucp_mem_h, ucp_context_h>;

/// One thread at a time; guarded by the engine's lock.
class Worker {
 public:
  /// Opens the color's devices: `devices` is a list as in UCX_NET_DEVICES, or
  /// empty. Failures are logged with the remedy.
  static Result<std::unique_ptr<Worker>> open(transport::Color color,
                                              const std::string& devices,
                                              Executor atomics);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();

  transport::Color color() const noexcept { return color_; }

  ucp_worker_h handle() const noexcept { return worker_; }

  /// The address by which other workers reach this one.
  const std::vector<std::byte>& address() const noexcept { return address_; }

  /// Readable when the worker has something to do, after arm().
  int descriptor() const noexcept { return descriptor_; }

  /// Maps memory so that peers may access it. Null, with UCX's reason in
  /// `why`, when UCX refuses.
  MappedMemory map(std::byte* address, std::size_t size, std::string& why);
  /// The bytes of which a peer makes an rkey; empty when UCX refuses.
  std::vector<std::byte> pack_rkey(const MappedMemory& memory);

  /// The list of devices, as text for the user.
  const std::string& devices() const noexcept { return devices_; }

 private:
  Worker() = default;
  Status create(const std::string& devices, Executor atomics);

  transport::Color color_ = 0;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int descriptor_ = -1;
  std::string devices_;
  std::vector<std::byte> address_;
};

/// The version of the UCP library that is loaded: major << 16 | minor.
std::uint32_t library_version() noexcept;

}  // namespace acp::ucx
