// Raw rows of a UDP socket: the round trip that every operation over udp needs
// at least once, and the bandwidth of a stream of datagrams.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "loopback_socket.h"
#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

constexpr std::size_t kDatagramBytes = 64;
/// After this long without an answer the datagram counts as lost.
constexpr std::int64_t kLostNs = 200'000'000;

/// Size of the datagrams into which udp divides large copies on the loopback.
constexpr std::size_t kStreamBytes = 60'000;
/// Datagrams of a stream in flight. Rank 1 answers once per half of them.
constexpr std::size_t kStreamWindow = 8;
constexpr int kStreamBuffer = 4 << 20;

constexpr const char* kNoSocket = "no UDP socket on 127.0.0.1";

using Datagram = std::array<std::byte, kDatagramBytes>;

void send_number(const LoopbackSocket& socket, std::uint64_t number) {
  Datagram bytes{};
  std::memcpy(bytes.data(), &number, sizeof(number));
  socket.send(bytes);
}

/// False when no datagram has arrived.
bool receive_number(const LoopbackSocket& socket, std::uint64_t& number) {
  Datagram bytes{};
  if (!socket.receive(bytes)) {
    return false;
  }
  std::memcpy(&number, bytes.data(), sizeof(number));
  return true;
}

/// Receives answers until `done(answer)`. False when kLostNs pass before.
template <typename Done>
bool wait_for_answer(const LoopbackSocket& socket, Done done) {
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

Verdict run_round_trip(Context& context, Samples& samples) {
  const LoopbackSocket socket;
  if (!socket.meet_rank_one(context)) {
    return {.failure = {}, .skipped = kNoSocket};
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
  const LoopbackSocket socket;
  if (!socket.meet_rank_zero(context)) {
    return;
  }
  while (!context.is_row_over()) {
    std::uint64_t number = 0;
    if (receive_number(socket, number)) {
      send_number(socket, number);
    }
  }
}

/// Number of datagrams per answer: less than half a window when the kernel
/// grants only a small buffer.
std::size_t stream_batch(const LoopbackSocket& socket) {
  const std::size_t room = socket.grow_buffer(kStreamBuffer);
  return std::clamp<std::size_t>(room / (2 * kStreamBytes), 2, kStreamWindow) /
         2;
}

Verdict run_stream(Context& context, Samples& samples) {
  const LoopbackSocket socket;
  const std::size_t batch = stream_batch(socket);
  if (!socket.meet_rank_one(context)) {
    return {.failure = {}, .skipped = kNoSocket};
  }
  std::vector<std::byte> bytes(kStreamBytes);
  std::uint64_t sent = 0;
  measure(context.time_ns, batch, samples, [&] {
    for (std::size_t i = 0; i < batch; ++i) {
      ++sent;
      std::memcpy(bytes.data(), &sent, sizeof(sent));
      socket.send(bytes);
    }
    // One batch stays in flight. A lost datagram shows as a slow sample.
    (void)wait_for_answer(
        socket, [&](std::uint64_t answer) { return answer + batch >= sent; });
  });
  return {};
}

void take_stream(Context& context) {
  const LoopbackSocket socket;
  const std::size_t batch = stream_batch(socket);
  if (!socket.meet_rank_zero(context)) {
    return;
  }
  std::vector<std::byte> bytes(kStreamBytes);
  while (!context.is_row_over()) {
    std::uint64_t number = 0;
    if (!socket.receive(bytes)) {
      continue;
    }
    std::memcpy(&number, bytes.data(), sizeof(number));
    if (number % batch == 0) {
      send_number(socket, number);
    }
  }
}

}  // namespace

void add_raw_udp_rows(Rows& rows) {
  append(rows, {
                   {.name = "raw.udp",
                    .what = "a round trip of 64 bytes over UDP on the "
                            "loopback, busy polling",
                    .needs = Needs::kSameHost,
                    .partners = Partners::kRankOne,
                    .run = run_round_trip,
                    .respond = answer_each},
                   {.name = "raw.udp.stream",
                    .what = "datagrams of 60,000 bytes over UDP on the "
                            "loopback, 8 on their way",
                    .unit = Unit::kBandwidth,
                    .bytes = kStreamBytes,
                    .needs = Needs::kSameHost,
                    .partners = Partners::kRankOne,
                    .run = run_stream,
                    .respond = take_stream},
               });
}

}  // namespace acp::perf
