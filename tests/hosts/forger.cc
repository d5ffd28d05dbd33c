// Reads the datagrams of a job from an interface and forges datagrams. A packet
// socket does not see the frames that it sends itself.
#include "forger.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace hosts {

namespace {

constexpr std::size_t kEthernetBytes = 14;
constexpr std::size_t kIpBytes = 20;
constexpr std::size_t kUdpBytes = 8;
constexpr std::size_t kUdp = kEthernetBytes + kIpBytes;
constexpr std::size_t kHeaders = kUdp + kUdpBytes;
constexpr std::size_t kPayloadBytes = kHeaders + 2;  ///< A field of the packet.
constexpr std::size_t kEpoch = kHeaders + 4;
constexpr std::size_t kTag = kHeaders + 40;
constexpr std::size_t kLeastPacket = 56;  ///< Header and tag of the library.
constexpr std::size_t kLargestDatagram = 65'507;
constexpr std::size_t kIpMtu = 1'500;
constexpr std::size_t kRemembered = 4096;

constexpr std::array<const char*, static_cast<std::size_t>(Attack::kCount)>
    kNames = {"replay",     "late replay",   "flip",         "wrong tag",
              "truncate",   "lengthen",      "oversized",    "largest",
              "other port", "other address", "other job",    "other target",
              "noise",      "earlier job",   "earlier epoch"};
/// Kinds that need no frames of an earlier job.
constexpr auto kKinds = static_cast<std::size_t>(Attack::kEarlierJob);

std::uint16_t load16(const Bytes& frame, std::size_t at) {
  return static_cast<std::uint16_t>(frame[at] << 8 | frame[at + 1]);
}

void store16(Bytes& frame, std::size_t at, std::size_t value) {
  frame[at] = static_cast<std::uint8_t>(value >> 8);
  frame[at + 1] = static_cast<std::uint8_t>(value);
}

/// Whether the frame carries a whole datagram of the library over IPv4.
bool is_of_job(const Bytes& frame) {
  return frame.size() >= kHeaders + kLeastPacket &&
         load16(frame, 12) == 0x0800 && frame[kEthernetBytes] == 0x45 &&
         (load16(frame, kEthernetBytes + 6) & 0x3fff) == 0 &&
         frame[kEthernetBytes + 9] == 17 && frame[kHeaders] >> 4 == 2;
}

/// Writes the header of IP, the last step in making a frame. `offset` is
/// that of the fragment in its datagram.
void finish_ip(Bytes& frame,
               std::uint16_t id,
               std::size_t offset,
               bool has_more) {
  store16(frame, kEthernetBytes + 2, frame.size() - kEthernetBytes);
  store16(frame, kEthernetBytes + 4, id);
  store16(frame, kEthernetBytes + 6, offset / 8 | (has_more ? 0x2000 : 0));
  store16(frame, kEthernetBytes + 10, 0);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < kIpBytes; i += 2) {
    sum += load16(frame, kEthernetBytes + i);
  }
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  store16(frame, kEthernetBytes + 10, ~sum & 0xffff);
}

}  // namespace

const char* name_of(Attack attack) {
  return kNames[static_cast<std::size_t>(attack)];
}

std::size_t Forger::kinds() const {
  return earlier_.empty() ? kKinds : kNames.size();
}

void Forger::remember(const Bytes& frame) {
  if (known_.size() < kRemembered) {
    known_.push_back(frame);
  } else {
    known_[random_() % kRemembered] = frame;
  }
}

/// The bits of header and tag come in turn, and then any bit.
void Forger::flip(Bytes& frame) {
  const std::size_t bits = 8 * (frame.size() - kHeaders);
  const std::size_t bit =
      random_() % 4 == 0 ? random_() % bits : next_bit_++ % (8 * kLeastPacket);
  frame[kHeaders + bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
}

/// The packet's own field agrees with the new length, so that the length alone
/// is no reason to drop it.
void Forger::grow(Bytes& frame, std::size_t payload_bytes) {
  frame.resize(kHeaders + payload_bytes, 0);
  const std::size_t field = payload_bytes - kLeastPacket;
  frame[kPayloadBytes] = static_cast<std::uint8_t>(field);
  frame[kPayloadBytes + 1] = static_cast<std::uint8_t>(field >> 8);
}

Bytes Forger::forge(Attack attack, const Bytes& newest) {
  Bytes frame = newest;
  switch (attack) {
    case Attack::kReplay: break;
    case Attack::kLateReplay: frame = known_[random_() % known_.size()]; break;
    case Attack::kFlip: flip(frame); break;
    case Attack::kWrongTag:
      for (std::size_t i = 0; i < 16; ++i) {
        frame[kTag + i] = static_cast<std::uint8_t>(random_());
      }
      break;
    case Attack::kTruncate:
      frame.resize(kHeaders + random_() % (frame.size() - kHeaders));
      break;
    case Attack::kLengthen:
      if (frame.size() < 1'400) {
        frame.resize(frame.size() + 1 + random_() % 100, 0);
      } else {
        flip(frame);
      }
      break;
    case Attack::kOversized: grow(frame, 1'473 + random_() % 8'000); break;
    case Attack::kLargest: grow(frame, kLargestDatagram); break;
    case Attack::kOtherPort:
      store16(frame, kUdp, 1024 + random_() % 60'000);
      break;
    case Attack::kOtherAddress:
      frame[kEthernetBytes + 15] =
          static_cast<std::uint8_t>(200 + random_() % 50);
      break;
    case Attack::kOtherJob: frame[kEpoch] ^= 0x5a; break;
    case Attack::kOtherTarget: {  // perhaps a rank of another job
      const Bytes& other = known_[random_() % known_.size()];
      std::copy_n(other.begin(), kHeaders, frame.begin());
      break;
    }
    case Attack::kNoise:
      for (std::size_t i = kHeaders; i < frame.size(); ++i) {
        frame[i] = static_cast<std::uint8_t>(random_());
      }
      break;
    case Attack::kEarlierJob:
    case Attack::kEarlierEpoch:
      frame = earlier_[random_() % earlier_.size()];
      std::copy_n(newest.begin(), kHeaders, frame.begin());
      if (attack == Attack::kEarlierEpoch) {
        std::copy_n(newest.begin() + kEpoch, 4, frame.begin() + kEpoch);
      }
      break;
    case Attack::kCount: break;
  }
  return frame;
}

/// The sum of UDP is left out, as IPv4 allows.
std::vector<Bytes> frames_for(const Bytes& forged, std::uint16_t id) {
  constexpr std::size_t kStep = (kIpMtu - kIpBytes) / 8 * 8;
  Bytes datagram(forged.begin() + kUdp, forged.end());
  store16(datagram, 4, datagram.size());
  store16(datagram, 6, 0);
  std::vector<Bytes> frames;
  for (std::size_t at = 0; at < datagram.size(); at += kStep) {
    const std::size_t bytes = std::min(kStep, datagram.size() - at);
    const auto begin = datagram.begin() + static_cast<std::ptrdiff_t>(at);
    Bytes frame(forged.begin(), forged.begin() + kUdp);
    frame.insert(frame.end(), begin,
                 begin + static_cast<std::ptrdiff_t>(bytes));
    finish_ip(frame, id, at, at + bytes < datagram.size());
    frames.push_back(std::move(frame));
  }
  return frames;
}

int open_packet_socket(const char* interface) {
  const int fd = ::socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(::if_nametoindex(interface));
  if (fd < 0 || address.sll_ifindex == 0 ||
      ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
          0) {
    std::perror("packet socket");
    return -1;
  }
  return fd;
}

Bytes next_frame(int fd) {
  Bytes frame(65'536);
  for (;;) {
    pollfd ready{fd, POLLIN, 0};
    if (::poll(&ready, 1, 10'000) <= 0) {
      return {};
    }
    sockaddr_ll from{};
    socklen_t size = sizeof from;
    const ssize_t bytes = ::recvfrom(fd, frame.data(), frame.size(), 0,
                                     reinterpret_cast<sockaddr*>(&from), &size);
    if (bytes > 0 && from.sll_pkttype == PACKET_OUTGOING) {
      Bytes taken(frame.begin(), frame.begin() + bytes);
      if (is_of_job(taken)) {
        return taken;
      }
    }
  }
}

}  // namespace hosts
