// Frames of a job's datagrams, read from a network interface, and forged ones
// made of them. Used by attacker.cc and flooder.cc, which need the right to
// open packet sockets and see no key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace hosts {

/// An Ethernet frame. A forged one may exceed the MTU; see frames_for().
using Bytes = std::vector<std::uint8_t>;

enum class Attack : std::uint8_t {
  kReplay,
  kLateReplay,
  kFlip,
  kWrongTag,
  kTruncate,
  kLengthen,
  kOversized,  ///< More than the MTU of Ethernet, in fragments of IP.
  kLargest,    ///< 65,507 bytes, in fragments of IP.
  kOtherPort,
  kOtherAddress,
  kOtherJob,
  kOtherTarget,
  kNoise,
  kEarlierJob,    ///< A packet of an earlier job, to this job's addresses.
  kEarlierEpoch,  ///< With this job's epoch as well.
  kCount
};

const char* name_of(Attack attack);

/// Makes forged frames from frames that were read.
class Forger {
 public:
  /// `earlier` are frames of an earlier job; without them the last two kinds of
  /// attack are left out.
  explicit Forger(std::vector<Bytes> earlier) : earlier_(std::move(earlier)) {}

  std::size_t kinds() const;

  const std::vector<Bytes>& known() const { return known_; }

  void remember(const Bytes& frame);

  /// Precondition: remember() has been called.
  Bytes forge(Attack attack, const Bytes& newest);

 private:
  void flip(Bytes& frame);
  void grow(Bytes& frame, std::size_t payload_bytes);

  std::mt19937_64 random_{7};
  std::vector<Bytes> earlier_;
  std::vector<Bytes> known_;
  std::size_t next_bit_ = 0;
};

/// The frames that carry the forged one: itself, or the fragments of its
/// datagram. Lengths and checksums are correct. `id` tells datagrams apart.
std::vector<Bytes> frames_for(const Bytes& forged, std::uint16_t id);

/// Opens a packet socket of an interface. Returns -1, with a message, when the
/// system refuses it.
int open_packet_socket(const char* interface);

/// The next datagram of the job on its way to the host behind the interface;
/// empty when ten seconds have passed.
Bytes next_frame(int fd);

}  // namespace hosts
