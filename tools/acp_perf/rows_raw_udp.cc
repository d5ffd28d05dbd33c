// Raw rows of a UDP socket. They are the round trip that every operation over
// udp needs at least once, and the bandwidth of a stream of datagrams. rows.cc
// lists them, and runner.cc runs them. They may call no function of ACP while
// they measure.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "pair_socket.h"
#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

constexpr std::size_t kDatagramBytes = 64;
/// After this long without an answer the datagram counts as lost.
constexpr std::int64_t kLostNs = 200'000'000;

/// The bytes that one operation of a stream sends. On the loopback they are one
/// datagram, into which udp divides large copies there. On other interfaces
/// they are as many packets as that takes.
constexpr std::size_t kStreamBytes = 60'000;
/// Operations of a stream in flight. Rank 1 answers once per half of them.
constexpr std::size_t kStreamWindow = 8;
constexpr int kStreamBuffer = 4 << 20;
/// The most that one call receives.
constexpr std::size_t kMostBytes = std::size_t{64} << 10;

using Datagram = std::array<std::byte, kDatagramBytes>;

void send_number(const PairSocket& socket, std::uint64_t number) {
  Datagram bytes{};
  std::memcpy(bytes.data(), &number, sizeof(number));
  socket.send(bytes);
}

/// False when no datagram has arrived.
bool receive_number(const PairSocket& socket, std::uint64_t& number) {
  Datagram bytes{};
  if (!socket.receive(bytes)) {
    return false;
  }
  std::memcpy(&number, bytes.data(), sizeof(number));
  return true;
}

/// Receives answers until `done(answer)`. False when kLostNs pass before.
template <typename Done>
bool wait_for_answer(const PairSocket& socket, Done done) {
  const std::int64_t deadline = now_ns() + kLostNs;
  std::uint64_t answer = 0;
  std::uint64_t tries = 0;
  do {
    if (receive_number(socket, answer) && done(answer)) {
      return true;
    }
  } while (++tries % 256 != 0 || now_ns() < deadline);
  return false;
}

Outcome run_round_trip(Context& context, Samples& samples) {
  PairSocket socket(context);
  if (!socket.meet()) {
    return {.failure = {}, .skipped = kNoPair};
  }
  std::uint64_t number = 0;
  measure(context.time_ns, 1, samples, [&] {
    ++number;
    do {
      send_number(socket, number);
    } while (!wait_for_answer(
        socket, [&](std::uint64_t answer) { return answer == number; }));
  });
  return {};
}

void answer_each(Context& context) {
  PairSocket socket(context);
  if (!socket.meet()) {
    return;
  }
  while (!context.is_row_over()) {
    std::uint64_t number = 0;
    if (receive_number(socket, number)) {
      send_number(socket, number);
    }
  }
}

/// Number of operations per answer: less than half a window when the kernel
/// grants only a small buffer.
std::size_t stream_batch(const PairSocket& socket) {
  const std::size_t room = socket.grow_buffer(kStreamBuffer);
  return std::clamp<std::size_t>(room / (2 * kStreamBytes), 2, kStreamWindow) /
         2;
}

/// Each datagram of an operation begins with the operation's number.
void send_operation(PairSocket& socket,
                    std::uint64_t number,
                    std::size_t step,
                    std::span<std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    std::memcpy(&bytes[at], &number, sizeof number);
  }
  if (step == bytes.size()) {
    socket.send(bytes);
  } else {
    socket.send_train(bytes, step);
  }
}

/// Sends a batch, then waits until the batch before it is answered. So the
/// network is busy while rank 1 answers.
Outcome run_stream(Context& context, Samples& samples) {
  PairSocket socket(context);
  const std::size_t batch = stream_batch(socket);
  if (!socket.meet()) {
    return {.failure = {}, .skipped = kNoPair};
  }
  const std::size_t packet = socket.packet_bytes();
  const std::size_t pieces = (kStreamBytes + packet - 1) / packet;
  const std::size_t step = (kStreamBytes + pieces - 1) / pieces;
  std::vector<std::byte> bytes(kStreamBytes);
  std::uint64_t sent = 0;
  measure(context.time_ns, batch, samples, [&] {
    for (std::size_t i = 0; i < batch; ++i) {
      send_operation(socket, ++sent, step, bytes);
    }
    // One batch stays in flight. A lost datagram shows as a slow sample.
    (void)wait_for_answer(
        socket, [&](std::uint64_t answer) { return answer + batch >= sent; });
  });
  return {};
}

/// Answers when the first datagram of a batch's last operation has come.
void take_stream(Context& context) {
  PairSocket socket(context);
  const std::size_t batch = stream_batch(socket);
  if (!socket.meet()) {
    return;
  }
  if (socket.packet_bytes() < kStreamBytes) {
    socket.take_trains();
  }
  std::vector<std::byte> bytes(kMostBytes);
  std::uint64_t answered = 0;
  while (!context.is_row_over()) {
    std::uint64_t number = 0;
    if (socket.receive_some(bytes) < sizeof number) {
      continue;
    }
    std::memcpy(&number, bytes.data(), sizeof number);
    if (number % batch == 0 && number > answered) {
      answered = number;
      send_number(socket, number);
    }
  }
}

}  // namespace

/// Both rows keep a processor of each rank busy: sockets are polled, not waited
/// for.
void add_raw_udp_rows(Rows& rows) {
  append(rows, {
                   {.name = "raw.udp",
                    .what = "a round trip of 64 bytes over UDP, busy "
                            "polling",
                    .needs = Needs::kPeer,
                    .partners = Partners::kRankOne,
                    .run = run_round_trip,
                    .respond = answer_each},
                   {.name = "raw.udp.stream",
                    .what = "60,000 bytes over UDP, in packets as large as "
                            "may be, 8 times on their way",
                    .unit = Unit::kBandwidth,
                    .bytes = kStreamBytes,
                    .needs = Needs::kPeer,
                    .partners = Partners::kRankOne,
                    .run = run_stream,
                    .respond = take_stream},
               });
}

}  // namespace acp::perf
