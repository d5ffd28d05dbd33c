// One port of an RDMA device and what belongs to it here: protection domain,
// completion queue with its channel, shared receive queue, buffers, listener.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "transport/transport.h"
#include "verbs/buffer_pool.h"
#include "verbs/card.h"
#include "verbs/find_ports.h"
#include "verbs/resource.h"
#include "verbs/result_words.h"

namespace acp::verbs {

class Link;

/// Work requests of a send queue, signalled ones and others.
inline constexpr std::uint32_t kSendQueue = 128;
/// Receive buffers of a device: beyond this many its connections share.
inline constexpr std::uint32_t kMaxReceives = 4096;
/// A send is signalled when so many before it were not.
inline constexpr std::uint32_t kSignalEvery = 8;

/// One thread at a time. Links are named by their queue pairs and not owned.
class Device {
 public:
  /// Makes all of it and listens. kSystem, kNoMemory: logged.
  static Result<std::unique_ptr<Device>> open(Port port,
                                              transport::Color color,
                                              std::uint32_t max_receives);

  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  transport::Color color() const noexcept { return color_; }

  /// "rxe0 port 1".
  const std::string& name() const noexcept { return port_.name; }

  const Place& place() const noexcept { return port_.place; }

  /// Reads and atomics that the device takes from a peer at a time, and sends.
  std::uint8_t responder_resources() const noexcept {
    return responder_resources_;
  }

  std::uint8_t initiator_depth() const noexcept { return initiator_depth_; }

  /// Whether it executes atomics of 8 bytes, and lets others do so here.
  bool has_atomics() const noexcept { return has_atomics_; }

  /// Makes its words for results of atomics. kNoMemory: logged.
  [[nodiscard]] Status make_result_words() { return result_words_.make(); }

  ResultWords& result_words() noexcept { return result_words_; }

  /// Provides buffers and completions for one more connection, makes its queue
  /// pair on `id`, and names `link` by it. kNoMemory, logged; kSystem, with
  /// errno.
  [[nodiscard]] Status add_connection(rdma_cm_id& id, Link& link);
  /// The opposite: destroys the queue pair. Nothing was ever sent on it.
  void drop_connection(rdma_cm_id& id) noexcept;

  /// Null when no link has that queue pair.
  Link* link_of(std::uint32_t queue_pair) const noexcept {
    const auto found = links_.find(queue_pair);
    return found == links_.end() ? nullptr : found->second;
  }

  /// Some of what has completed; valid until the next call. Those that failed
  /// are among them. Negative: the completion queue is broken.
  int poll() noexcept;

  const ibv_wc& completion(int index) const noexcept {
    return completions_[static_cast<std::size_t>(index)];
  }

  /// As Transport::arm.
  bool arm() noexcept;
  /// Reads the notification that made the descriptor readable.
  void take_notification() noexcept;

  /// Gives buffers of receives back to the device: all at once in the end.
  void recycle(Buffer* buffer) noexcept;
  [[nodiscard]] bool post_recycled() noexcept;

  /// For peers and for this process, to read and to write. Null, with errno.
  MemoryRegion register_memory(std::byte* address, std::uint64_t size) noexcept;

  /// The software device rxe, which needs some care: docs/verbs.md.
  bool is_rxe() const noexcept { return is_rxe_; }

  BufferPool& send_buffers() noexcept { return send_buffers_; }

  /// Bytes that can be sent without a buffer.
  std::uint32_t inline_bytes() const noexcept { return inline_bytes_; }

  /// Become readable when something has completed after arm(), and when the
  /// device has something to say.
  int completion_descriptor() const noexcept { return channel_->fd; }

  int event_descriptor() const noexcept { return port_.id->verbs->async_fd; }

  ibv_context& context() const noexcept { return *port_.id->verbs; }

 private:
  static constexpr int kBatch = 16;

  Device(Port port,
         transport::Color color,
         std::uint32_t max_receives,
         ProtectionDomain domain,
         CompletionChannel channel);

  Status make_queues(const ibv_device_attr& attributes);
  Status listen();
  Status provide_receives();
  Status provide_completions();
  ibv_qp_init_attr queue_pair() const noexcept;
  Status find_inline_bytes();

  Port port_;
  transport::Color color_;
  ProtectionDomain domain_;
  CompletionChannel channel_;
  CompletionQueue completion_queue_;
  SharedReceiveQueue receive_queue_;
  BufferPool send_buffers_;
  BufferPool receive_buffers_;
  ResultWords result_words_;
  std::unordered_map<std::uint32_t, Link*> links_;
  std::uint32_t connections_ = 0;
  std::uint32_t max_receives_;
  std::uint32_t inline_bytes_ = 256;
  std::uint8_t responder_resources_ = 0;
  std::uint8_t initiator_depth_ = 0;
  bool is_rxe_ = false;
  bool has_atomics_ = false;
  std::array<ibv_wc, kBatch> completions_{};
  int stashed_ = 0;  ///< Completions that arm() found.
  /// Receives to be posted, chained.
  std::array<ibv_recv_wr, kBatch> receives_{};
  std::array<ibv_sge, kBatch> receive_pieces_{};
  std::size_t recycled_ = 0;
};

}  // namespace acp::verbs
