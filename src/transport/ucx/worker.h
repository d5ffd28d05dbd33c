// One color of the transport: a UCP context with the color's devices, and its
// worker. All UCX objects of the color belong to it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ucp/api/ucp.h>

#include "base/log.h"
#include "status/result.h"
#include "transport/transport.h"
#include "transport/ucx/address_card.h"
#include "transport/ucx/registration.h"

namespace acp::ucx {

/// One thread at a time; guarded by the engine's mutex.
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

  /// The addresses by which other workers reach this one.
  const WorkerAddresses& addresses() const noexcept { return addresses_; }

  /// Readable when the worker has something to do, after arm().
  int descriptor() const noexcept { return descriptor_; }

  /// Maps memory so that peers may access it. False when UCX refuses, which is
  /// logged at that level.
  MemoryHandle register_memory(std::byte* address,
                               std::size_t size,
                               LogLevel refusal);

  /// The list of devices, as text for the user.
  const std::string& devices() const noexcept { return devices_; }

 private:
  Worker() = default;
  Status create(const std::string& devices, Executor atomics);
  ucs_status_t pack_address(std::uint32_t flags,
                            std::vector<std::byte>& packed);
  MappedMemory map(std::byte* address, std::size_t size, std::string& why);
  std::vector<std::byte> pack_rkey(const MappedMemory& memory);

  // open() and create() write these fields, and they do not change later.
  transport::Color color_ = 0;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int descriptor_ = -1;
  std::string devices_;
  WorkerAddresses addresses_;
};

/// The version of the UCP library that is loaded: major << 16 | minor.
std::uint32_t library_version() noexcept;

}  // namespace acp::ucx
