// The transport over RDMA devices: messages by SEND over reliable connections
// that are made at first use, and one-sided steps. docs/verbs.md explains it;
// transport/transport.h is its contract. Made by open_network.cc,
// called by the engine.
#pragma once

#include <poll.h>

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "transport/peer_name.h"
#include "transport/transport.h"
#include "transport/unfit_peer.h"
#include "verbs/address_card.h"
#include "verbs/device.h"
#include "verbs/endpoint.h"
#include "verbs/hello.h"
#include "verbs/port_order.h"
#include "verbs/resource.h"
#include "verbs/timers.h"

namespace acp::verbs {

/// Options of a VerbsTransport.
struct VerbsOptions {
  transport::ProcId me = 0;
  std::uint32_t procs = 1;
  JobId job{};  ///< Tells jobs apart, and strangers from peers.
  /// The address card of a process; empty when it has none (yet). Called at the
  /// first contact with it, within a call into the transport.
  std::function<Result<std::span<const std::byte>>(transport::ProcId)> card_of;
  transport::NameOf name_of = transport::name_at_launch;
  std::string devices;                   ///< ACP_VERBS_DEVICES; may be empty.
  std::size_t most_colors = kMaxColors;  ///< Without `devices`.
  PortChooser chooser{};                 ///< Without `devices`.
  /// ACP_VERBS_ATOMICS. kBoth becomes kAgent where a device's atomics do not
  /// agree with the CPU's.
  Executor atomics = Executor::kAgent;
  WriteOrder writes = WriteOrder::kOrdered;   ///< ACP_VERBS_WRITES.
  std::uint32_t max_receives = kMaxReceives;  ///< Per device; at least 1.
  /// First queue pair of a connection, alike in all processes. The connection
  /// of a process to itself has a large one in any case.
  PairSize first_pair = PairSize::kSmall;
  Timers timers{};
  std::uint8_t traffic_class = 0;  ///< ACP_VERBS_TRAFFIC_CLASS.
};

/// One thread at a time; the engine's mutex sees to that, and guards all
/// fields.
class VerbsTransport final : public transport::Transport {
 public:
  /// Opens the devices and listens. `card()` is valid from then on. The
  /// transport may be used once all address cards have been exchanged.
  /// kUnsupported, kBadOption, kNoMemory, kSystem: logged with the remedy.
  static Result<std::unique_ptr<VerbsTransport>> open(VerbsOptions options);
  ~VerbsTransport() override;

  /// The encoded address card of this process.
  std::span<const std::byte> card() const noexcept {
    return std::span(card_).first(card_bytes_);
  }

  std::string_view name() const noexcept override { return "verbs"; }

  const transport::Capabilities& capabilities() const noexcept override {
    return capabilities_;
  }

  /// The fabrics of all colors, and what else peers must have alike.
  std::string fabric() const override;
  std::string describe_color(transport::Color color) const override;
  std::string why_agents() const override;

  /// Also fails with kProtocol or kBadOption (logged) for an address card that
  /// is damaged or does not fit this process's own. For this process itself, in
  /// any color: kUnsupported, unless devices execute atomics.
  Result<transport::Endpoint*> endpoint(transport::ProcId peer,
                                        transport::Color color) override;
  std::size_t poll(transport::MessageSink& sink) override;
  void flush() override;
  void flush_idle() override;
  void on_registered(const transport::Region& region) override;
  bool on_unregistered(std::uint32_t key, std::uint64_t state) override;
  void forget_regions() override;
  TimePoint next_deadline() const noexcept override;

  std::span<const int> descriptors() const noexcept override {
    return descriptors_;
  }

  bool arm() override;
  void disarm() override;

  const Counters& counters() const noexcept { return shared_.counters; }

  /// The receive buffers of a color's device, for tests and traces.
  const Receives& receives(transport::Color color) const noexcept {
    return devices_[color]->receives();
  }

  /// The completion queues of a color's device, for tests and traces.
  const CompletionQueues& completions(transport::Color color) const noexcept {
    return devices_[color]->completions();
  }

 private:
  /// `wanted_atomics`: VerbsOptions::atomics before the devices were known.
  VerbsTransport(VerbsOptions options,
                 Executor wanted_atomics,
                 EventChannel channel,
                 std::vector<std::unique_ptr<Device>> devices);

  Result<Endpoint*> endpoint_to(transport::ProcId peer, transport::Color color);
  Endpoint& endpoint_from_myself(transport::Color color);
  Endpoint* add_endpoint(std::uint64_t key,
                         transport::ProcId peer,
                         transport::Color color,
                         const transport::Address& listen_address,
                         Executor atomics);
  Executor executor_for(const AddressCard& peer) const noexcept;
  void start_retries();
  void give_idle_credit_up();
  void drain(Device& device, transport::MessageSink& sink);
  void on_receive(Device& device,
                  const ibv_wc& completion,
                  transport::MessageSink& sink);
  void on_send(Device& device,
               const ibv_wc& completion,
               transport::MessageSink& sink);
  void flush_endpoints(bool (Endpoint::*flush_one)());
  void check_descriptors(std::span<pollfd> descriptors);
  void take_events();
  bool take_connection_event();
  void on_listener_event(const Device& device,
                         rdma_cm_event_type event,
                         int status);
  void on_request(const Device& device,
                  CmId id,
                  std::span<const std::byte> data,
                  ReadDepths depths);
  void take_device_events(const Device& device);
  void report_failures(transport::MessageSink& sink);

  // The constructor writes these fields. Endpoints change their device, the
  // regions and the shared state, too.
  VerbsOptions options_;
  const Executor wanted_atomics_;
  EventChannel channel_;
  std::vector<std::unique_ptr<Device>> devices_;  ///< By color.
  Regions regions_;  ///< on_registered() adds, on_unregistered() removes.
  SharedState shared_;

  /// By endpoint_key(). add_endpoint() adds; an endpoint stays until the end.
  std::unordered_map<std::uint64_t, std::unique_ptr<Endpoint>> endpoints_;
  /// By process. Written by report_failures().
  std::vector<bool> has_failed_;
  /// endpoint_to() notes a peer, and poll() reports it.
  transport::UnfitPeer unfit_peer_{"verbs"};

  // Written by the constructor, and not changed later.
  transport::Capabilities capabilities_;
  /// Descriptors of connection and device events, then the completion channels
  /// by color.
  std::vector<int> descriptors_;
  std::size_t event_descriptors_ = 0;  ///< How many of them are for events.
  std::vector<pollfd> watched_;        ///< descriptors_ for poll(2).
  std::array<std::byte, kMaxCardBytes> card_{};
  std::size_t card_bytes_ = 0;

  /// poll() counts it down, and check_descriptors() sets it anew.
  int polls_until_event_check_ = 0;
  /// check_descriptors() has been called, after a sleep or after some polls. So
  /// the next poll() may read the time.
  bool is_after_check_ = false;
  /// take_events() has work, and resets this. Set by check_descriptors().
  bool has_events_ = false;
};

}  // namespace acp::verbs
