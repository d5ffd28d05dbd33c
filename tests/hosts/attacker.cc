// An attacker on the network of a job: `attacker INTERFACE PACKETS [FILE]`. It
// reads the frames that go to a host through INTERFACE, and sends forged ones
// to that host: repeated, damaged, cut, lengthened, and with other addresses.
// It needs the right to open packet sockets, and sees no key. A FILE that does
// not exist gets the frames that were read; from one that exists come the
// frames of an earlier job, and two more kinds of attack.
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kEthernetBytes = 14;
constexpr std::size_t kIpBytes = 20;
constexpr std::size_t kHeaders = kEthernetBytes + kIpBytes + 8;
constexpr std::size_t kEpoch = kHeaders + 4;
constexpr std::size_t kLeastPacket = 56;  ///< Header and tag of the library.
constexpr std::size_t kRemembered = 4096;
/// Forged frames for each one that was read.
constexpr int kForEach = 16;

enum class Attack : std::uint8_t {
  kReplay,
  kLateReplay,
  kFlip,
  kWrongTag,
  kTruncate,
  kLengthen,
  kOtherPort,
  kOtherAddress,
  kOtherJob,
  kOtherTarget,
  kNoise,
  kEarlierJob,    ///< A packet of an earlier job, to this job's addresses.
  kEarlierEpoch,  ///< With this job's epoch as well.
  kCount
};

constexpr std::array<const char*, static_cast<std::size_t>(Attack::kCount)>
    kNames = {"replay",       "late replay",  "flip",       "wrong tag",
              "truncate",     "lengthen",     "other port", "other address",
              "other job",    "other target", "noise",      "earlier job",
              "earlier epoch"};
/// Kinds that need no frames of an earlier job.
constexpr auto kKinds = static_cast<std::size_t>(Attack::kEarlierJob);

std::uint16_t load16(const Bytes& frame, std::size_t at) {
  return static_cast<std::uint16_t>(frame[at] << 8 | frame[at + 1]);
}

void store16(Bytes& frame, std::size_t at, std::size_t value) {
  frame[at] = static_cast<std::uint8_t>(value >> 8);
  frame[at + 1] = static_cast<std::uint8_t>(value);
}

/// Whether the frame carries a datagram of the library over IPv4.
bool is_of_job(const Bytes& frame) {
  return frame.size() >= kHeaders + kLeastPacket &&
         load16(frame, 12) == 0x0800 && frame[kEthernetBytes] == 0x45 &&
         frame[kEthernetBytes + 9] == 17 && frame[kHeaders] >> 4 == 2;
}

/// Sets lengths and checksums, so that the host's kernel takes the datagram.
/// The sum of UDP is left out, as IPv4 allows.
void finish(Bytes& frame) {
  store16(frame, kEthernetBytes + 2, frame.size() - kEthernetBytes);
  store16(frame, kEthernetBytes + kIpBytes + 4,
          frame.size() - kEthernetBytes - kIpBytes);
  store16(frame, kEthernetBytes + kIpBytes + 6, 0);
  store16(frame, kEthernetBytes + 10, 0);
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < kIpBytes; i += 2) {
    sum += load16(frame, kEthernetBytes + i);
  }
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  store16(frame, kEthernetBytes + 10, ~sum & 0xffff);
}

using File = std::unique_ptr<std::FILE, decltype(&std::fclose)>;

/// A file has frames one behind the other, each behind its size.
void write_frames(const char* path, const std::vector<Bytes>& frames) {
  const File file(std::fopen(path, "wb"), &std::fclose);
  for (const Bytes& frame : frames) {
    const std::uint32_t bytes = static_cast<std::uint32_t>(frame.size());
    if (!file || std::fwrite(&bytes, sizeof bytes, 1, file.get()) != 1 ||
        std::fwrite(frame.data(), bytes, 1, file.get()) != 1) {
      std::perror(path);
      return;
    }
  }
}

/// Empty without the file.
std::vector<Bytes> read_frames(const char* path) {
  std::vector<Bytes> frames;
  if (std::FILE* const opened = std::fopen(path, "rb")) {
    const File file(opened, &std::fclose);
    for (std::uint32_t bytes = 0;
         std::fread(&bytes, sizeof bytes, 1, opened) == 1;) {
      frames.emplace_back(bytes);
      if (std::fread(frames.back().data(), bytes, 1, opened) != 1) {
        std::perror(path);
      }
    }
  }
  return frames;
}

/// Makes forged frames from frames that were read.
class Forger {
 public:
  explicit Forger(std::vector<Bytes> earlier) : earlier_(std::move(earlier)) {}

  std::size_t kinds() const {
    return earlier_.empty() ? kKinds : kNames.size();
  }

  const std::vector<Bytes>& known() const { return known_; }

  void remember(const Bytes& frame) {
    if (known_.size() < kRemembered) {
      known_.push_back(frame);
    } else {
      known_[random_() % kRemembered] = frame;
    }
  }

  Bytes forge(Attack attack, const Bytes& newest) {
    Bytes frame = newest;
    switch (attack) {
      case Attack::kReplay: break;
      case Attack::kLateReplay:
        frame = known_[random_() % known_.size()];
        break;
      case Attack::kFlip: flip(frame); break;
      case Attack::kWrongTag:
        for (std::size_t i = 0; i < 16; ++i) {
          frame[kHeaders + 40 + i] = static_cast<std::uint8_t>(random_());
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
      case Attack::kOtherPort:
        store16(frame, kEthernetBytes + kIpBytes, 1024 + random_() % 60'000);
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
    finish(frame);
    return frame;
  }

 private:
  /// The bits of header and tag come in turn, and then any bit.
  void flip(Bytes& frame) {
    const std::size_t bits = 8 * (frame.size() - kHeaders);
    const std::size_t bit = random_() % 4 == 0
                                ? random_() % bits
                                : next_bit_++ % (8 * kLeastPacket);
    frame[kHeaders + bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
  }

  std::mt19937_64 random_{7};
  std::vector<Bytes> earlier_;  ///< Frames of an earlier job.
  std::vector<Bytes> known_;
  std::size_t next_bit_ = 0;
};

/// A packet socket of one interface; -1, with a message, when there is none.
int open_socket(const char* interface) {
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

/// The next frame on its way to the host; empty after ten seconds without one.
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

}  // namespace

/// Ends after PACKETS forged frames, or when the job sends no more. The socket
/// does not see the frames that it sends itself.
int main(int argc, char** argv) {
  const int fd = argc == 3 || argc == 4 ? open_socket(argv[1]) : -1;
  if (fd < 0) {
    return 1;
  }
  const char* const file = argc == 4 ? argv[3] : nullptr;
  const auto most = std::strtoull(argv[2], nullptr, 10);
  Forger forger(file != nullptr ? read_frames(file) : std::vector<Bytes>());
  std::array<std::uint64_t, kNames.size()> counts{};
  std::uint64_t sent = 0;
  std::size_t turn = 0;
  while (sent < most) {
    const Bytes frame = next_frame(fd);
    if (frame.empty()) {
      break;
    }
    forger.remember(frame);
    for (int i = 0; i < kForEach; ++i) {
      const std::size_t kind = turn++ % forger.kinds();
      const Bytes forged = forger.forge(static_cast<Attack>(kind), frame);
      // A frame for which the interface has no room is not sent.
      if (::send(fd, forged.data(), forged.size(), 0) > 0) {
        ++counts[kind];
        ++sent;
      }
    }
  }
  if (file != nullptr && forger.kinds() == kKinds) {
    write_frames(file, forger.known());
  }
  for (std::size_t kind = 0; kind < forger.kinds(); ++kind) {
    std::printf("%s %llu\n", kNames[kind],
                static_cast<unsigned long long>(counts[kind]));
  }
  ::close(fd);
  return 0;
}
