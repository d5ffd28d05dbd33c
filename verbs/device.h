// One port of an RDMA device, which is one color, and its resources in this
// process. It has a protection domain, completion queues, receive and send
// buffers, registered words, and a listener. Made by VerbsTransport::open.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/log.h"
#include "status/result.h"
#include "transport/transport.h"
#include "verbs/address_card.h"
#include "verbs/buffer_pool.h"
#include "verbs/completion_queues.h"
#include "verbs/find_ports.h"
#include "verbs/receives.h"
#include "verbs/registered_words.h"
#include "verbs/registration.h"
#include "verbs/resource.h"

namespace acp::verbs {

class Endpoint;

/// Every this many sends of a connection one is signalled.
inline constexpr std::uint32_t kSignalEvery = 8;

/// The load that a device is sized for.
struct DeviceLoad {
  std::uint32_t connections = 1;              ///< Most that there can be.
  std::uint32_t max_receives = kMaxReceives;  ///< At least 1.
};

/// One thread at a time; guarded by the engine's mutex. Endpoints are found by
/// their queue pairs and not owned.
class Device {
 public:
  /// Makes everything and listens. kSystem, kNoMemory: logged.
  static Result<std::unique_ptr<Device>> open(Port port,
                                              transport::Color color,
                                              const DeviceLoad& load);

  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() = default;

  transport::Color color() const noexcept { return color_; }

  /// "rxe0 port 1".
  const std::string& name() const noexcept { return port_.name; }

  /// "eth0".
  const std::string& interface() const noexcept { return port_.interface; }

  const transport::Address& listen_address() const noexcept {
    return port_.listen_address;
  }

  const Gid& gid() const noexcept { return port_.gid; }

  /// Port::fabric.
  const std::string& fabric() const noexcept { return port_.fabric; }

  /// RDMA reads and atomics that the device can serve for one peer, and that it
  /// can send to one peer.
  std::uint8_t responder_resources() const noexcept {
    return responder_resources_;
  }

  std::uint8_t initiator_depth() const noexcept { return initiator_depth_; }

  /// Whether the device executes atomics of 8 bytes, as target and as sender.
  bool has_atomics() const noexcept { return has_atomics_; }

  /// The device's atomics agree with those of the CPU and of other devices.
  bool agrees_with_cpu() const noexcept { return agrees_with_cpu_; }

  /// Makes the registered words for results of atomics. A device without inline
  /// data has them already. kNoMemory: logged.
  [[nodiscard]] Status make_words() { return words_.make(); }

  RegisteredWords& words() noexcept { return words_; }

  /// Makes the word that takes the results of proofs. kNoMemory: logged.
  [[nodiscard]] Status make_proof_word();

  /// Precondition: make_proof_word() has succeeded.
  RegisteredWord proof_word() const noexcept { return proof_word_; }

  /// Memory that is registered from now on is for relaxed ordering, where the
  /// device takes that.
  void relax_memory() noexcept { is_relaxed_ = true; }

  /// Makes a queue pair on `id`, with its buffers and completions, and
  /// registers `endpoint` for it. kNoMemory, kSystem: with errno.
  [[nodiscard]] Status add_connection(rdma_cm_id& id,
                                      Endpoint& endpoint,
                                      PairSize size);
  /// Undoes add_connection. Precondition: nothing was ever sent on it, or all
  /// that was has been completed at both ends.
  void drop_connection(rdma_cm_id& id) noexcept;

  /// The endpoint of a queue pair; null when there is none.
  Endpoint* endpoint_of(std::uint32_t queue_pair) const noexcept {
    const auto found = endpoints_.find(queue_pair);
    return found == endpoints_.end() ? nullptr : found->second.endpoint;
  }

  CompletionQueues& completions() noexcept { return completions_; }

  Receives& receives() noexcept { return receives_; }

  /// Registers memory that peers and this process may read and write. False
  /// when the device or the system refuses, which is logged at that level.
  MemoryHandle register_memory(std::byte* address,
                               std::uint64_t size,
                               LogLevel refusal);

  /// Whether this is the software device rxe; docs/verbs.md, "rxe".
  bool is_rxe() const noexcept { return is_rxe_; }

  BufferPool& send_buffers() noexcept { return send_buffers_; }

  /// Bytes that a queue pair sends inline, without a registered buffer.
  std::uint32_t inline_bytes(PairSize size) const noexcept {
    return size == PairSize::kLarge ? inline_bytes_
                                    : std::min(inline_bytes_, kSmallInline);
  }

  /// Becomes readable when the device has an asynchronous event.
  int event_descriptor() const noexcept { return port_.id->verbs->async_fd; }

  ibv_context& context() const noexcept { return *port_.id->verbs; }

 private:
  /// Inline limit of small queue pairs: 16 entries then fit one page on mlx5.
  static constexpr std::uint32_t kSmallInline = 60;

  /// A queue pair in endpoints_.
  struct Connection {
    Endpoint* endpoint;
    PairSize size;
  };

  Device(Port port,
         transport::Color color,
         std::uint32_t max_receives,
         ProtectionDomain domain,
         CompletionChannel channel);

  Status make_queues(const ibv_device_attr& attributes,
                     std::uint32_t connections);
  Status listen();
  ibv_qp_init_attr queue_pair(ibv_cq* completions,
                              PairSize size) const noexcept;
  Status find_inline_bytes();
  void add_send_buffers();

  // The engine's mutex guards all fields. Fields without a writer of their own
  // are written by open(), before another part sees the device.
  Port port_;
  transport::Color color_;
  ProtectionDomain domain_;
  CompletionQueues completions_;  ///< Changed by connections that come and go.
  Receives receives_;             ///< Changed by connections and by arrivals.
  BufferPool send_buffers_;       ///< Grown by add_send_buffers().
  RegisteredWords words_;         ///< Made by make_words().
  /// Written by make_proof_word(). Nothing reads the value of the word.
  RegisteredWord proof_word_{};
  /// By queue pair number. Written by add_connection() and drop_connection().
  std::unordered_map<std::uint32_t, Connection> endpoints_;
  std::uint32_t inline_bytes_ = 256;  ///< Written by find_inline_bytes().
  std::uint8_t responder_resources_ = 0;
  std::uint8_t initiator_depth_ = 0;
  /// False: add_send_buffers() has failed once, and tries no more.
  bool has_send_memory_ = true;
  bool is_rxe_ = false;
  /// Set by relax_memory(). register_memory() resets it when the device refuses
  /// such memory.
  bool is_relaxed_ = false;
  bool has_atomics_ = false;
  bool agrees_with_cpu_ = false;
};

}  // namespace acp::verbs
