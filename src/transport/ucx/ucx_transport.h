// The transport over UCX: messages as active messages, posted steps as puts,
// gets and atomics of UCP. docs/ucx.md explains it; transport/transport.h is
// its contract. Made by open_network.cc, called by the engine.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "transport/peer_name.h"
#include "transport/transport.h"
#include "transport/ucx/address_card.h"
#include "transport/ucx/endpoint.h"
#include "transport/ucx/fault_note.h"
#include "transport/ucx/worker.h"
#include "transport/unfit_peer.h"

namespace acp::ucx {

/// Options of a UcxTransport.
struct UcxOptions {
  transport::ProcId me = 0;
  std::uint32_t procs = 1;
  std::uint64_t job = 0;  ///< Tells strangers from peers.
  /// The address card of a process; empty when it has none (yet). Called at the
  /// first contact with it, within a call into the transport.
  std::function<Result<std::span<const std::byte>>(transport::ProcId)> card_of;
  transport::NameOf name_of = transport::name_at_launch;
  /// Whether a process is on this host. Null: none is.
  std::function<bool(transport::ProcId)> is_local;
  bool has_other_hosts = true;        ///< The job has ranks on other hosts.
  std::string devices;                ///< ACP_UCX_DEVICES; may be empty.
  Executor atomics = Executor::kCpu;  ///< ACP_UCX_ATOMICS.
};

/// One thread at a time; the engine's mutex sees to that, and guards all
/// fields.
class UcxTransport final : public transport::Transport {
 public:
  /// Opens the workers. `card()` is valid from then on. The transport may be
  /// used once all address cards have been exchanged. Failures are logged with
  /// the remedy.
  static Result<std::unique_ptr<UcxTransport>> open(UcxOptions options);
  ~UcxTransport() override;

  /// The encoded address card of this process.
  std::span<const std::byte> card() const noexcept { return card_; }

  std::string_view name() const noexcept override { return "ucx"; }

  const transport::Capabilities& capabilities() const noexcept override {
    return capabilities_;
  }

  /// Also fails with kProtocol or kBadOption (logged) for an address card that
  /// is damaged or does not fit this process's own. For this process itself:
  /// kUnsupported, unless devices execute atomics.
  Result<transport::Endpoint*> endpoint(transport::ProcId peer,
                                        transport::Color color) override;
  std::size_t poll(transport::MessageSink& sink) override;

  bool has_served() const noexcept override { return has_served_; }

  std::string describe_color(transport::Color color) const override;
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

  void disarm() override {}

  const Counters& counters() const noexcept { return shared_.counters; }

 private:
  /// A packet that came while no poll() could take it.
  struct Arrival {
    transport::Color color = 0;
    std::vector<std::byte> packet;
  };

  /// The argument of UCX's callback for a color's packets.
  struct Receiver {
    UcxTransport* transport = nullptr;
    transport::Color color = 0;
  };

  UcxTransport(UcxOptions options,
               std::vector<std::unique_ptr<Worker>> workers);

  Status receive_packets();
  void write_card();
  PeerLocality locality_of(transport::ProcId peer) const;
  Result<const AddressCard*> card_of(transport::ProcId peer);
  Result<Endpoint*> endpoint_to(transport::ProcId peer, transport::Color color);
  void on_packet(transport::Color color, std::span<const std::byte> packet);
  void take_arrivals();
  bool make_passes();
  bool has_work() const noexcept;
  std::size_t report_done(transport::MessageSink& sink);
  void check_gone();
  bool abandon(transport::ProcId peer);
  void report_failures(transport::MessageSink& sink);
  void flush_endpoints(bool (Endpoint::*flush_one)());

  static ucs_status_t on_packet_callback(void* receiver,
                                         const void* header,
                                         std::size_t header_bytes,
                                         void* data,
                                         std::size_t bytes,
                                         const ucp_am_recv_param_t* param);

  // The constructor writes these fields. Endpoints change the regions and the
  // shared state, too.
  UcxOptions options_;
  std::vector<std::unique_ptr<Worker>> workers_;  ///< By color.
  Regions regions_;  ///< on_registered() adds, on_unregistered() removes.
  FaultNote fault_note_{regions_};
  SharedState shared_;

  /// Address cards of the peers that were used so far. `card_of()` adds them.
  std::unordered_map<transport::ProcId, AddressCard> cards_;
  /// By process and color. endpoint_to() adds; an endpoint stays until the end.
  std::unordered_map<std::uint64_t, std::unique_ptr<Endpoint>> endpoints_;
  /// By process. Written by report_failures().
  std::vector<bool> has_failed_;
  /// `card_of()` notes a peer, and poll() reports it.
  transport::UnfitPeer unfit_peer_{"ucx"};

  // Written while the transport opens, and not changed later.
  transport::Capabilities capabilities_;
  std::array<Receiver, kMaxColors> receivers_{};
  std::vector<int> descriptors_;
  std::vector<std::byte> card_;

  /// on_packet() adds, and take_arrivals() takes all.
  std::vector<Arrival> arrivals_;
  /// Tokens, while report_done() reports them.
  std::vector<std::uint64_t> reporting_;
  /// A packet's messages are being taken. Written by on_packet().
  bool is_delivering_ = false;
  /// UCX had something to do in the last poll(), which writes it.
  bool has_served_ = false;
};

}  // namespace acp::ucx
