// One port of an RDMA device and what belongs to it here: protection domain,
// completion queues, receive buffers, send buffers, listener.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "transport/transport.h"
#include "verbs/address_card.h"
#include "verbs/buffer_pool.h"
#include "verbs/completion_queues.h"
#include "verbs/find_ports.h"
#include "verbs/receives.h"
#include "verbs/registered_words.h"
#include "verbs/resource.h"

namespace acp::verbs {

class Endpoint;

/// A send is signalled when so many before it were not.
inline constexpr std::uint32_t kSignalEvery = 8;

/// How much a device will have to do.
struct DeviceLoad {
  std::uint32_t connections = 1;              ///< At most.
  std::uint32_t max_receives = kMaxReceives;  ///< At least 1.
};

/// One thread at a time. Links are named by their queue pairs and not owned.
class Device {
 public:
  /// Makes all of it and listens. kSystem, kNoMemory: logged.
  static Result<std::unique_ptr<Device>> open(Port port,
                                              transport::Color color,
                                              const DeviceLoad& load);

  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() = default;

  transport::Color color() const noexcept { return color_; }

  /// "rxe0 port 1".
  const std::string& name() const noexcept { return port_.name; }

  const ListenAddress& listen_address() const noexcept {
    return port_.listen_address;
  }

  /// Reads and atomics that the device takes from a peer at a time, and sends.
  std::uint8_t responder_resources() const noexcept {
    return responder_resources_;
  }

  std::uint8_t initiator_depth() const noexcept { return initiator_depth_; }

  /// Whether it executes atomics of 8 bytes, and lets others do so here.
  bool has_atomics() const noexcept { return has_atomics_; }

  /// Makes its words for results of atomics, which a device without inline
  /// data has anyhow. kNoMemory: logged.
  [[nodiscard]] Status make_words() { return words_.make(); }

  RegisteredWords& words() noexcept { return words_; }

  /// Provides buffers and completions for one more connection, makes its queue
  /// pair on `id`, and names `endpoint` by it. kNoMemory, kSystem: with errno.
  [[nodiscard]] Status add_connection(rdma_cm_id& id, Endpoint& endpoint);
  /// The opposite: destroys the queue pair. Nothing was ever sent on it.
  void drop_connection(rdma_cm_id& id) noexcept;

  /// Null when no endpoint has that queue pair.
  Endpoint* endpoint_of(std::uint32_t queue_pair) const noexcept {
    const auto found = endpoints_.find(queue_pair);
    return found == endpoints_.end() ? nullptr : found->second;
  }

  CompletionQueues& completions() noexcept { return completions_; }

  Receives& receives() noexcept { return receives_; }

  /// For peers and for this process, to read and to write. Null, with errno.
  MemoryRegion register_memory(std::byte* address, std::uint64_t size) noexcept;

  /// The software device rxe, which needs some care: docs/verbs.md.
  bool is_rxe() const noexcept { return is_rxe_; }

  BufferPool& send_buffers() noexcept { return send_buffers_; }

  /// Bytes that can be sent without a buffer.
  std::uint32_t inline_bytes() const noexcept { return inline_bytes_; }

  /// Becomes readable when the device has something to say.
  int event_descriptor() const noexcept { return port_.id->verbs->async_fd; }

  ibv_context& context() const noexcept { return *port_.id->verbs; }

 private:
  Device(Port port,
         transport::Color color,
         std::uint32_t max_receives,
         ProtectionDomain domain,
         CompletionChannel channel);

  Status make_queues(const ibv_device_attr& attributes,
                     std::uint32_t connections);
  Status listen();
  ibv_qp_init_attr queue_pair(ibv_cq* completions) const noexcept;
  Status find_inline_bytes();

  Port port_;
  transport::Color color_;
  ProtectionDomain domain_;
  CompletionQueues completions_;
  Receives receives_;
  BufferPool send_buffers_;
  RegisteredWords words_;
  std::unordered_map<std::uint32_t, Endpoint*> endpoints_;
  std::uint32_t inline_bytes_ = 256;
  std::uint8_t responder_resources_ = 0;
  std::uint8_t initiator_depth_ = 0;
  bool is_rxe_ = false;
  bool has_atomics_ = false;
};

}  // namespace acp::verbs
