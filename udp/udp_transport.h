// The transport over UDP: messages only, reliable streams over an unreliable
// wire. docs/udp.md tells how it works; transport/transport.h is its contract.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "transport/network.h"
#include "transport/transport.h"
#include "udp/address_card.h"
#include "udp/datagram_socket.h"
#include "udp/endpoint.h"
#include "udp/endpoint_table.h"
#include "udp/fragment_pool.h"

namespace acp::udp {

/// Smallest datagram that may be asked for, and the largest.
inline constexpr std::size_t kMinDatagramBytes = 576;
inline constexpr std::size_t kMaxDatagramBytes = 65'000;

/// What a UdpTransport is made of besides its wire.
struct UdpOptions {
  transport::ProcId me = 0;
  std::uint32_t procs = 1;
  std::uint32_t epoch = 0;  ///< epoch_of(job id): tells jobs apart.
  /// The card of a process; empty when it has none (yet). Called on the
  /// first contact with it, by whoever calls into the transport.
  std::function<std::span<const std::byte>(transport::ProcId)> card_of;
  /// Asked a few times a second by whoever polls; empty: always nobody.
  std::function<transport::WaitedFor()> waited_for;
  std::size_t datagram_bytes = 0;             ///< 0: what suits the addresses.
  Duration silence = StreamLimits().silence;  ///< See there.
  std::uint32_t ranks_per_core = 1;           ///< Of this host, rounded up.
  std::uint64_t first_seq = 0;    ///< For tests; the same everywhere.
  std::size_t max_fragments = 0;  ///< Buffers in all; 0: about 64 MiB.
};

/// What open() needs to make sockets.
struct SocketOptions {
  std::string addresses;  ///< "127.0.0.1,::1": one color each; may be empty.
  std::string faults;     ///< As in ACP_UDP_FAULTS; may be empty.
};

/// One thread at a time.
class UdpTransport final : public transport::Transport {
 public:
  /// Binds one socket per address. Then card() is known, and after all cards
  /// have been exchanged the transport can be used; what arrives earlier
  /// waits in the sockets. kBadOption, kSystem: logged. `clock` outlives it.
  static Result<std::unique_ptr<UdpTransport>> open(
      const UdpOptions& options,
      const SocketOptions& sockets,
      const Clock& clock);

  /// Over any wire. options.datagram_bytes is not 0 here.
  UdpTransport(UdpOptions options,
               std::unique_ptr<DatagramSocket> socket,
               const Clock& clock);
  ~UdpTransport() override;

  /// What the others have to know, encoded.
  std::span<const std::byte> card() const noexcept {
    return std::span(card_).first(card_bytes_);
  }

  std::string_view name() const noexcept override { return "udp"; }

  const transport::Capabilities& capabilities() const noexcept override {
    return capabilities_;
  }

  /// Besides the interface's reasons: kInvalidArgument for a process that
  /// does not exist, kProtocol and kBadOption (logged) for a card that is
  /// damaged or does not fit ours.
  Result<transport::Endpoint*> endpoint(transport::ProcId peer,
                                        transport::Color color) override;
  std::size_t poll(transport::MessageSink& sink) override;
  void flush() override;
  void flush_idle() override;
  bool on_unregistered(std::uint32_t key, std::uint64_t state) override;
  TimePoint next_deadline() const noexcept override;

  std::span<const int> descriptors() const noexcept override {
    return socket_->descriptors();
  }

  bool arm() override;

  void disarm() override {}

  const Counters& counters() const noexcept { return shared_.counters; }

 private:
  bool comes_from(transport::ProcId peer,
                  transport::Color color,
                  const Address& from) const;
  Result<Endpoint*> make_endpoint(transport::ProcId peer,
                                  transport::Color color);

  /// How much of what had arrived was taken.
  struct Drained {
    std::size_t datagrams = 0;
    bool is_empty = false;  ///< Nothing more was there.
  };

  Drained drain(transport::Color color, transport::MessageSink& sink);
  void on_datagram(transport::Color color,
                   const DatagramSocket::Arrival& arrival,
                   transport::MessageSink& sink);
  bool is_for_us(const PacketHeader& header) noexcept;
  void flush_endpoints(bool may_batch);
  enum class Due : std::uint8_t { kAcks, kAll };
  Due what_is_due(const Drained& drained) noexcept;
  void run_timers(Due due, transport::MessageSink& sink);
  void fail_peer(Endpoint& silent, transport::MessageSink& sink);
  void check_for_silence();

  UdpOptions options_;
  std::unique_ptr<DatagramSocket> socket_;
  FragmentPool pool_;
  SharedState shared_;
  EndpointTable endpoints_;
  transport::Capabilities capabilities_;
  Fragment* carrier_;  ///< Receives the next datagram.
  std::array<std::byte, kMaxCardBytes> card_{};
  std::size_t card_bytes_ = 0;
  /// By color: datagrams have been coming in bursts.
  std::array<bool, kMaxColors> is_bursty_{};
  bool had_arrivals_ = false;  ///< In the last poll.
  /// Datagrams taken since a time-out is due, while more may wait in a socket.
  std::size_t taken_when_due_ = 0;
  TimePoint next_silence_check_{};  ///< For peers that are silent.
  std::size_t next_suspect_ = 0;    ///< In endpoints_.all(), modulo its size.
};

}  // namespace acp::udp
