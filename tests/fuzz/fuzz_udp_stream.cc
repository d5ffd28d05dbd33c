// Fuzz target: bytes as a schedule for streams of two or three processes over
// udp, with a virtual clock. The schedule sends, loses, delays, doubles and
// damages datagrams. Each message must arrive once and in its order, and the
// transport must not grow.
//
// The first two bytes choose the job. Each event has three bytes: its kind and
// two arguments. At the end the network works, and all messages arrive.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

#include "base/assert.h"
#include "support/fake_network.h"
#include "udp/packet.h"
#include "udp/packet_guard.h"

namespace acp::test {

namespace {

using transport::Ordering;
using transport::ProcId;

constexpr std::size_t kEventBytes = 3;
constexpr std::size_t kMostEvents = 1'000;
constexpr std::size_t kCells = 16;
constexpr std::size_t kCellBytes = 2'000;
/// Datagrams that are kept for later; the oldest is lost.
constexpr std::size_t kMostUnderWay = 400;
/// A call sends each fragment of a window at most once, and a few packets more,
/// to two peers.
constexpr std::size_t kMostSentByCall = 2 * (udp::kWindowFragments + 16);
/// In finish() only acks and time-outs make a process send.
constexpr std::uint64_t kMostSentAtEnd = 100'000;

/// The job, chosen by the first two bytes of an input, one bit for each choice.
struct Choices {
  explicit Choices(unsigned bits)
      : has_hosts((bits & 1) != 0),
        is_authentic((bits & 2) != 0),
        has_liar((bits & 4) != 0),
        has_three((bits & 8) != 0),
        has_small_pool((bits & 16) != 0),
        wraps((bits & 32) != 0),
        has_large_datagrams((bits & 64) != 0),
        has_small_buffer((bits & 128) != 0),
        may_fail((bits & 256) != 0) {}

  FakeJobPlan plan() const {
    FakeJobPlan plan;
    plan.procs = has_three ? 3 : 2;
    plan.network.has_hosts = has_hosts;
    plan.network.delay = Duration::zero();
    plan.network.faults.loss = 1;  // the schedule delivers
    plan.network.buffer_bytes = std::size_t{has_small_buffer ? 64U : 4096U}
                                << 10;
    plan.security = is_authentic ? udp::Security::kAuth : udp::Security::kOff;
    plan.max_fragments = has_small_pool ? 24 : 1024;
    plan.first_seq = wraps ? 0xffff'fff0 : 0;
    plan.datagram_bytes = has_large_datagrams ? 20'000 : 1'400;
    plan.first_grant = has_hosts ? udp::kFirstGrant : plan.first_grant;
    plan.silence = may_fail ? std::chrono::seconds(2) : Duration::zero();
    return plan;
  }

  bool has_hosts;
  bool is_authentic;
  bool has_liar;  ///< A process sends anything, with correct tags.
  bool has_three;
  bool has_small_pool;
  bool wraps;  ///< The low halves of seq pass zero.
  bool has_large_datagrams;
  bool has_small_buffer;
  bool may_fail;  ///< Silence ends a stream.
};

/// A message: a put of a cell if it is ordered, else an addition to one.
struct Operation {
  std::uint32_t number = 0;  ///< In its stream.
  std::uint32_t cell = 0;
  std::uint32_t bytes = 0;
  std::uint32_t is_ordered = 0;
};

/// Memory that the operations of one stream make.
struct Memory {
  std::array<std::array<std::byte, kCellBytes>, kCells> cells{};
  std::array<std::uint64_t, kCells> counters{};

  void apply(const Operation& operation) {
    if (operation.is_ordered == 0) {
      counters[operation.cell] += operation.number;
    } else {
      std::fill_n(cells[operation.cell].begin(),
                  std::min<std::size_t>(operation.bytes, kCellBytes),
                  static_cast<std::byte>(operation.number));
    }
  }

  bool operator==(const Memory&) const = default;
};

/// The messages of one process to another, sent and arrived.
struct Stream {
  ProcId from;
  ProcId to;
  std::vector<bool> has_arrived{};
  std::size_t first_missing = 0;
  bool has_failed = false;
  Memory memory{};
  Memory expected{};
  /// Data that are sent in place.
  std::deque<std::vector<std::byte>> sources{};

  void take(std::span<const std::byte> bytes) {
    Operation operation;
    ACP_ASSERT(!has_failed && bytes.size() >= sizeof operation);
    std::memcpy(&operation, bytes.data(), sizeof operation);
    const auto body = bytes.subspan(sizeof operation);
    ACP_ASSERT(operation.bytes == body.size());
    ACP_ASSERT(std::ranges::all_of(body, [&](std::byte byte) {
      return byte == static_cast<std::byte>(operation.number);
    }));
    ACP_ASSERT(operation.number < has_arrived.size() &&
               !has_arrived[operation.number]);
    ACP_ASSERT(operation.is_ordered == 0 || first_missing == operation.number);
    has_arrived[operation.number] = true;
    while (first_missing < has_arrived.size() && has_arrived[first_missing]) {
      ++first_missing;
    }
    memory.apply(operation);
  }

  bool is_complete() const {
    return first_missing == has_arrived.size() && memory == expected;
  }
};

/// A datagram that was sent and has not been delivered or lost.
struct UnderWay {
  udp::Address from;
  udp::Address to;
  std::vector<std::byte> bytes;
};

class Schedule {
 public:
  /// The observer keeps the datagrams that were sent, and forgets the oldest
  /// ones. The events of the schedule change and repeat them.
  explicit Schedule(const Choices& choices)
      : choices_(choices),
        plan_(choices.plan()),
        job_(plan_),
        guard_(plan_.security, &FakeJob::kSecret, 1) {
    for (ProcId from = 0; from < plan_.procs; ++from) {
      for (ProcId to = 0; to < plan_.procs; ++to) {
        if (from != to) {
          streams_.push_back({from, to});
        }
      }
      connect_sink(from);
    }
    job_.network().observe([this](const FakeNetwork::Event& event) {
      ++sent_;
      under_way_.push_back(
          {event.from, event.to, {event.bytes.begin(), event.bytes.end()}});
      if (under_way_.size() > kMostUnderWay) {
        under_way_.pop_front();
      }
    });
  }

  /// Sends and changes of datagrams are the most frequent events, because the
  /// others only move what these have made.
  void run(std::uint8_t event, std::uint8_t first, std::uint8_t second) {
    const std::uint64_t before = sent_;
    switch (event % 16) {
      case 0:
      case 1:
      case 2:
      case 3: send(streams_[first % streams_.size()], first, second); break;
      case 4:
      case 5: poll(first % plan_.procs); break;
      case 6: job_.transport(first % plan_.procs).flush(); break;
      case 7: job_.transport(first % plan_.procs).flush_idle(); break;
      case 8:
        job_.network().clock().advance(Duration(1LL << first % 32));
        break;
      case 9: deliver_all(); break;
      case 10: reclaim(streams_[first % streams_.size()]); break;
      default: change_datagram(event % 16, first, second); break;
    }
    ACP_ASSERT(sent_ - before <= kMostSentByCall);
  }

  /// From here on no datagram is lost.
  void finish() {
    deliver_all();
    job_.network().plan().faults.loss = 0;
    job_.network().plan().delay = std::chrono::microseconds(10);
    job_.network().observe({});
    const std::uint64_t before = job_.network().counts().sent;
    const bool is_idle = job_.run_until_idle(std::chrono::minutes(10));
    ACP_ASSERT(job_.network().counts().sent - before < kMostSentAtEnd);
    if (choices_.has_liar) {
      return;
    }
    for (const Stream& stream : streams_) {
      ACP_ASSERT(stream.has_failed || (is_idle && stream.is_complete()));
    }
    for (ProcId proc = 0; proc < plan_.procs; ++proc) {
      // The transport keeps one fragment, for the next datagram.
      ACP_ASSERT(job_.transport(proc).fragments_in_use() == 1 || !is_idle);
    }
  }

 private:
  Stream& stream_of(ProcId from, ProcId to) {
    return *std::ranges::find_if(streams_, [&](const Stream& stream) {
      return stream.from == from && stream.to == to;
    });
  }

  /// A silent peer is given up in both directions.
  void connect_sink(ProcId me) {
    job_.sink(me).message = [this, me](auto from, auto, auto bytes) {
      if (!choices_.has_liar) {
        stream_of(from, me).take(bytes);
      }
    };
    job_.sink(me).failed = [this, me](auto peer, auto) {
      ACP_ASSERT(choices_.may_fail);
      stream_of(me, peer).has_failed = true;
      stream_of(peer, me).has_failed = true;
    };
  }

  void poll(ProcId proc) {
    job_.transport(proc).poll(job_.sink(proc));
    job_.transport(proc).flush();
  }

  /// Arguments below 200 are small sizes; larger ones count from the largest
  /// down.
  void send(Stream& stream, std::uint8_t first, std::uint8_t second) {
    Operation operation;
    const std::size_t most =
        job_.transport(stream.from).capabilities().max_message -
        sizeof operation;
    operation.number = static_cast<std::uint32_t>(stream.has_arrived.size());
    operation.cell = second % kCells;
    operation.bytes = static_cast<std::uint32_t>(
        second < 200 ? std::min<std::size_t>(most, second * 4U)
                     : most - (second - 200U));
    operation.is_ordered = first >> 7;
    std::vector<std::byte> body(operation.bytes,
                                static_cast<std::byte>(operation.number));
    const std::array parts = {std::as_bytes(std::span(&operation, 1)),
                              std::span<const std::byte>(body)};
    transport::Endpoint& endpoint = job_.endpoint(stream.from, stream.to);
    const auto ordering =
        operation.is_ordered != 0 ? Ordering::kOrdered : Ordering::kFree;
    const bool is_in_place = (first & 0x40) != 0;
    // The message may be sent, and its peer found dead, within this call.
    stream.has_arrived.push_back(false);
    const Status status = is_in_place ? endpoint.send_in_place(parts, ordering)
                                      : endpoint.send(parts, ordering);
    if (status != Status::kOk) {
      ACP_ASSERT(status == Status::kAgain ||
                 (status == Status::kPeerDead && stream.has_failed));
      stream.has_arrived.pop_back();
      return;
    }
    stream.expected.apply(operation);
    if (is_in_place) {
      stream.sources.push_back(std::move(body));
    }
  }

  /// The oldest operation in place ends, and its data are gone.
  void reclaim(Stream& stream) {
    if (!stream.sources.empty()) {
      job_.endpoint(stream.from, stream.to).reclaim(stream.sources.front());
      stream.sources.pop_front();
    }
  }

  void inject(const UnderWay& datagram) {
    job_.network().inject(datagram.from, datagram.to, datagram.bytes);
  }

  void deliver_all() {
    for (const UnderWay& datagram : under_way_) {
      inject(datagram);
    }
    under_way_.clear();
  }

  /// Events of a single datagram, whose number is the first argument.
  void change_datagram(int event, std::uint8_t first, std::uint8_t second) {
    if (under_way_.empty()) {
      return;
    }
    const std::size_t index = first % under_way_.size();
    UnderWay datagram = under_way_[index];
    if (event != 12) {  // delivered once more later
      under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(index));
    }
    switch (event) {
      case 11: return;  // lost
      case 13:
        datagram.bytes[second % datagram.bytes.size()] ^= std::byte{1};
        break;
      case 14: change_hints(datagram, first, second); break;
      case 15:
        if (choices_.has_liar) {
          lie(datagram, first, second);
        }
        break;
      default: break;
    }
    inject(datagram);
  }

  /// Changes a field that streams must not depend on, in a valid packet. These
  /// are the grant, the echo, and the time since the arrival that it names.
  void change_hints(UnderWay& datagram,
                    std::uint8_t first,
                    std::uint8_t second) {
    const auto packet = udp::decode_packet(datagram.bytes);
    if (!packet || packet->header.type == udp::PacketType::kProbeReply) {
      return;  // its echo is no hint: it names the size that has arrived
    }
    udp::PacketHeader header = packet->header;
    switch (second % 4) {
      case 0: header.grant = static_cast<std::uint16_t>(first * 257U); break;
      case 1: header.grant = second / 4; break;
      case 2: header.held_us = static_cast<std::uint16_t>(first * 257U); break;
      default: header.echo = second / 4; break;
    }
    seal(datagram, *packet, header);
  }

  /// Changes a byte of header, bitmap or payload, and makes the tag fit it.
  void lie(UnderWay& datagram, std::uint8_t first, std::uint8_t second) {
    const std::size_t at =
        std::size_t{first} % std::min<std::size_t>(datagram.bytes.size(), 96);
    datagram.bytes[at] = static_cast<std::byte>(second);
    if (const auto packet = udp::decode_packet(datagram.bytes)) {
      seal(datagram, *packet, packet->header);
    }
  }

  void seal(UnderWay& datagram,
            const udp::PacketView& packet,
            const udp::PacketHeader& header) {
    std::vector<std::byte> bytes(udp::kHeadroomBytes);
    bytes.insert(bytes.end(), packet.payload.begin(), packet.payload.end());
    const auto sealed = guard_.seal(
        guard_.cipher_with(true), 0, header,
        udp::encode_packet(header, packet.sack,
                           std::span(bytes).subspan(udp::kHeadroomBytes)),
        {});
    datagram.bytes.assign(sealed.head.begin(), sealed.head.end());
  }

  Choices choices_;
  FakeJobPlan plan_;
  std::vector<Stream> streams_;  ///< Outlives the job, which reads the sources.
  FakeJob job_;
  udp::PacketGuard guard_;  ///< Has the key of the job.
  std::deque<UnderWay> under_way_;
  std::uint64_t sent_ = 0;  ///< Datagrams before finish().
};

}  // namespace

}  // namespace acp::test

// NOLINTNEXTLINE(readability-identifier-naming): the fuzzer's name for it
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size < 2) {
    return 0;
  }
  acp::test::Schedule schedule(
      acp::test::Choices(data[0] | unsigned{data[1]} << 8));
  auto left = std::span(data, size).subspan(2);
  for (std::size_t i = 0;
       i < acp::test::kMostEvents && left.size() >= acp::test::kEventBytes;
       ++i) {
    schedule.run(left[0], left[1], left[2]);
    left = left.subspan(acp::test::kEventBytes);
  }
  schedule.finish();
  return 0;
}
