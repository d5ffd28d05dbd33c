// The transport over UDP: messages only, as reliable streams over datagrams.
// docs/udp.md explains it; transport/transport.h is its contract. Made by
// open_network.cc, called by the engine.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "protocol/traffic.h"
#include "transport/network.h"
#include "transport/peer_name.h"
#include "transport/transport.h"
#include "udp/address_card.h"
#include "udp/aes_choice.h"
#include "udp/datagram_socket.h"
#include "udp/endpoint.h"
#include "udp/endpoint_table.h"
#include "udp/fragment_pool.h"
#include "udp/packet_guard.h"
#include "udp/peer_admission.h"

namespace acp::udp {

/// Smallest and largest datagram that a user may ask for.
inline constexpr std::size_t kMinDatagramBytes = kLeastDatagramBytes;
inline constexpr std::size_t kMaxDatagramBytes = 65'000;

/// Options of a UdpTransport.
struct UdpOptions {
  transport::ProcId me = 0;
  std::uint32_t procs = 1;
  std::uint32_t epoch = 0;  ///< epoch_of(job id).
  Security security = Security::kOff;
  /// A text for people for each color, such as "eth0 at 10.88.0.1".
  std::vector<std::string> color_texts{};
  /// Keys are derived from it, in the constructor. Null with kOff only.
  const protocol::JobSecret* secret = nullptr;
  /// AES-256-GCM of this process; null: it has none, and its packets have tags
  /// by ChaCha20-Poly1305. open() sets it.
  const transport::AesGcm* aes = sodium_aes_gcm();
  /// The address card of a process; empty when it has none (yet). Called at the
  /// first contact with it in each color, within a call into the transport.
  std::function<Result<std::span<const std::byte>>(transport::ProcId)> card_of;
  transport::NameOf name_of = transport::name_at_launch;
  /// Reading an address card may take a round trip to the launcher, so only
  /// packets of the job may cause it.
  bool fetches_cards = false;
  /// Called by poll() up to four times a second. Empty: this process waits for
  /// no peer.
  std::function<transport::WaitedFor()> waited_for;
  /// Called by poll() up to four times a second, and at the end, with what has
  /// been counted. May be empty.
  std::function<void(const protocol::Traffic&)> publish;
  std::string stats_file;          ///< See write_statistics(); may be empty.
  std::size_t datagram_bytes = 0;  ///< 0: chosen by the interfaces.
  std::uint64_t window_bytes = 0;  ///< A stream's; 0: found by its path.
  Duration silence = StreamLimits().silence;  ///< See StreamLimits.
  std::uint32_t ranks_per_core = 1;           ///< On this host, rounded up.
  /// See StreamLimits.
  std::uint64_t first_grant = kFirstGrant;
  std::uint64_t first_seq = 0;  ///< Tests set it; equal on all ranks.
  /// Buffers in all; 0: about 64 MiB of them, at most 16,384.
  std::size_t max_fragments = 0;
};

/// Options with which open() makes sockets, texts of settings.
struct SocketOptions {
  std::string interfaces{};       ///< ACP_UDP_INTERFACES; see interfaces.h.
  std::string faults{};           ///< ACP_UDP_FAULTS; may be empty.
  std::string route_to{};         ///< HostHeader::route_to; may be empty.
  std::string security = "auto";  ///< ACP_UDP_SECURITY.
  std::string why_no_route{};     ///< HostHeader::why_no_route; may be empty.
  std::string tags = "auto";      ///< ACP_UDP_TAGS.
  std::string module_folders{};   ///< ACP_MODULE_PATH; may be empty.
  /// Whether this process warns of what concerns its whole host.
  Warnings warnings = Warnings::kOn;
};

/// One thread at a time; the engine's mutex sees to that, and guards all
/// fields.
class UdpTransport final : public transport::Transport {
 public:
  /// Binds one socket per address. `card()` is valid from then on. The
  /// transport may be used once all address cards have been exchanged;
  /// datagrams that arrive earlier wait in the sockets. kBadOption, kSystem:
  /// logged. `clock` outlives the transport.
  static Result<std::unique_ptr<UdpTransport>> open(
      const UdpOptions& options,
      const SocketOptions& sockets,
      const Clock& clock);

  /// Over any datagram socket. Precondition: options.datagram_bytes is not 0.
  UdpTransport(UdpOptions options,
               std::unique_ptr<DatagramSocket> socket,
               const Clock& clock);
  ~UdpTransport() override;

  /// The encoded address card of this process.
  std::span<const std::byte> card() const noexcept {
    return std::span(card_).first(card_bytes_);
  }

  std::string_view name() const noexcept override { return "udp"; }

  const transport::Capabilities& capabilities() const noexcept override {
    return capabilities_;
  }

  std::string describe_color(transport::Color color) const override;
  std::string protection() const override;

  /// Also fails with kProtocol or kBadOption (logged) for an address card that
  /// is damaged or does not fit this process's own.
  Result<transport::Endpoint*> endpoint(transport::ProcId peer,
                                        transport::Color color) override;
  std::size_t poll(transport::MessageSink& sink) override;
  void flush() override;
  void flush_idle() override;
  bool on_unregistered(std::uint32_t key, std::uint64_t state) override;
  void forget_regions() override;
  TimePoint next_deadline() const noexcept override;

  std::span<const int> descriptors() const noexcept override {
    return socket_->descriptors();
  }

  bool arm() override;

  void disarm() override {}

  const Counters& counters() const noexcept { return shared_.counters; }

  /// Buffers in use, with the one for the next datagram; tests look for leaks.
  std::size_t fragments_in_use() const noexcept { return pool_.in_use(); }

 private:
  Result<AddressCard> read_card(transport::ProcId peer) const;
  PeerPath path_to(const AddressCard& card, transport::Color color) const;
  PeerPath path_by(const Result<AddressCard>& card,
                   transport::Color color) const;
  Result<Endpoint*> make_endpoint(transport::ProcId peer,
                                  transport::Color color,
                                  const Result<AddressCard>& card);

  /// Result of drain() for a color.
  struct Drained {
    std::size_t datagrams = 0;
    bool is_empty = false;  ///< The socket had no more.
  };

  Drained drain(transport::Color color, transport::MessageSink& sink);
  void on_datagram(transport::Color color,
                   const DatagramSocket::Arrival& arrival,
                   transport::MessageSink& sink);
  bool is_for_us(const PacketHeader& header) noexcept;
  Endpoint* meet_source(transport::Color color,
                        const DatagramSocket::Arrival& arrival,
                        const PacketView& packet);
  bool is_acceptable(const PeerPath& path,
                     transport::Color color,
                     const DatagramSocket::Arrival& arrival,
                     const PacketView& packet,
                     Endpoint* endpoint);
  void flush_endpoints(bool may_batch);
  /// Which timers poll() may run: only those of acks, or all.
  enum class Due : std::uint8_t { kAcks, kAll };
  Due what_is_due(const Drained& drained) noexcept;
  void run_timers(Due due, transport::MessageSink& sink);
  void fail_peer(Endpoint& silent, transport::MessageSink& sink);
  void check_for_silence();
  void tell_statistics();

  // The constructor makes these parts. The endpoints use and change the pool,
  // the guard and the shared state, too.
  UdpOptions options_;
  std::unique_ptr<DatagramSocket> socket_;
  FragmentPool pool_;
  PacketGuard guard_;
  SharedState shared_;
  /// make_endpoint() adds, and fail_peer() for colors without an endpoint.
  EndpointTable endpoints_;
  /// make_endpoint() notes a peer, and poll() reports it.
  PeerAdmission admission_;

  // Written by the constructor alone.
  transport::Capabilities capabilities_;
  Fragment* const carrier_;  ///< Its buffer receives the next datagram.
  std::array<std::byte, kMaxCardBytes> card_{};
  std::size_t card_bytes_ = 0;

  // Written by poll() and its steps.
  /// By color: datagrams come in bursts, so look for a second one.
  std::array<bool, kMaxColors> is_bursty_{};
  bool had_arrivals_ = false;  ///< Whether the last poll took any.
  TimePoint nothing_due_{};    ///< The last poll() that left no timer due.
  /// Datagrams taken since a time-out became due; see what_is_due().
  std::size_t taken_when_due_ = 0;
  // Written by check_for_silence().
  TimePoint next_silence_check_{};  ///< Probe of a peer.
  std::size_t next_suspect_ = 0;    ///< Index into endpoints_.all().
};

}  // namespace acp::udp
