// Rows of channels between ranks 0 and 1: round trips, exchanges
// in both directions, and streams one way.
// rows.cc lists them, and runner.cc runs them. Rank 0 alone may end a row,
// which it does with empty messages.
#include <array>
#include <cstring>
#include <vector>

#include "acp/channel.h"
#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

constexpr std::size_t kWindow = 64;  // The largest value of window_of.

/// This rank's two ends: `there` sends to the other rank, `back` receives.
struct Pair {
  explicit Pair(const Context& context)
      : there(acp_create_ch(context.rank, 1 - context.rank)),
        back(acp_create_ch(1 - context.rank, context.rank)) {}

  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  ~Pair() {
    acp_free_ch(there);
    acp_free_ch(back);
  }

  acp_ch_t there;
  acp_ch_t back;
};

void send(acp_ch_t ch, std::byte* bytes, std::size_t size) {
  acp_wait_ch(acp_nbsend_ch(ch, bytes, size));
}

std::size_t receive(acp_ch_t ch, std::byte* bytes, std::size_t size) {
  return acp_wait_ch(acp_nbrecv_ch(ch, bytes, size));
}

Outcome run_ping_pong(Context& context, Samples& samples, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  std::vector<std::byte> in(bytes);
  fill_pattern(out.data(), bytes, context.row);
  const Pair pair(context);
  bool ok = true;
  measure(context.time_ns, 2, samples, [&] {
    send(pair.there, out.data(), bytes);
    ok = receive(pair.back, in.data(), bytes) == bytes && ok;
  });
  send(pair.there, nullptr, 0);
  return expect(ok && has_pattern(in.data(), bytes, context.row),
                "received bytes differ");
}

void respond_ping_pong(Context& context, std::size_t bytes) {
  std::vector<std::byte> memory(bytes);
  const Pair pair(context);
  while (receive(pair.back, memory.data(), bytes) == bytes) {
    send(pair.there, memory.data(), bytes);
  }
}

/// Number of messages of this size that are posted at a time.
std::size_t window_of(std::size_t bytes) {
  return bytes < 1 << 20 ? 64 : 8;
}

void send_window(acp_ch_t ch,
                 std::byte* bytes,
                 std::size_t size,
                 std::size_t count) {
  std::array<acp_request_t, kWindow> requests{};
  for (std::size_t i = 0; i < count; ++i) {
    requests[i] = acp_nbsend_ch(ch, bytes, size);
  }
  acp_waitall_ch(requests.data(), static_cast<int>(count), nullptr);
}

Outcome run_stream(Context& context, Samples& samples, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  fill_pattern(out.data(), bytes, context.row);
  const std::size_t window = window_of(bytes);
  const Pair pair(context);
  measure(context.time_ns, window, samples,
          [&] { send_window(pair.there, out.data(), bytes, window); });
  send_window(pair.there, nullptr, 0, window);
  std::uint64_t is_good = 0;
  acp_wait_ch(acp_nbrecv_ch(pair.back, &is_good, sizeof is_good));
  return expect(is_good == 1, "received bytes differ");
}

void respond_stream(Context& context, std::size_t bytes) {
  const std::size_t window = window_of(bytes);
  std::vector<std::byte> in(window * bytes);
  const Pair pair(context);
  std::array<acp_request_t, kWindow> requests{};
  std::array<std::size_t, kWindow> sizes{};
  do {
    for (std::size_t i = 0; i < window; ++i) {
      requests[i] = acp_nbrecv_ch(pair.back, in.data() + i * bytes, bytes);
    }
    acp_waitall_ch(requests.data(), static_cast<int>(window), sizes.data());
  } while (sizes[0] == bytes);
  std::uint64_t is_good = 1;
  for (std::size_t i = 0; i < window; ++i) {
    if (!has_pattern(in.data() + i * bytes, bytes, context.row)) is_good = 0;
  }
  acp_wait_ch(acp_nbsend_ch(pair.there, &is_good, sizeof is_good));
}

/// Messages that both ranks send each other at the same time. Each rank posts
/// the receive of the next turn before it sends, so that a large message finds
/// granted memory.
class Exchange {
 public:
  Exchange(const Pair& pair, std::size_t bytes)
      : pair_(pair), bytes_(bytes), memory_(2 * bytes) {
    post_receive();
  }

  /// One message in each direction. Returns the bytes that have come.
  std::size_t turn(std::byte* message) {
    acp_request_t receive = receive_;
    post_receive();
    send(message, bytes_);
    return acp_wait_ch(receive);
  }

  void send(std::byte* message, std::size_t bytes) {
    acp_request_t before = send_;
    send_ = acp_nbsend_ch(pair_.there, message, bytes);
    if (before != ACP_REQUEST_NULL) acp_wait_ch(before);
  }

  /// Waits for the last send and the last receive. Returns the bytes of that
  /// receive.
  std::size_t finish() {
    acp_wait_ch(send_);
    return acp_wait_ch(receive_);
  }

  /// Memory of the message that the newest turn has received.
  const std::byte* received() const {
    return memory_.data() + turns_ % 2 * bytes_;
  }

 private:
  void post_receive() {
    receive_ =
        acp_nbrecv_ch(pair_.back, memory_.data() + turns_ % 2 * bytes_, bytes_);
    ++turns_;
  }

  const Pair& pair_;
  const std::size_t bytes_;
  std::vector<std::byte> memory_;
  std::size_t turns_ = 0;  // receives posted
  acp_request_t receive_ = ACP_REQUEST_NULL;
  acp_request_t send_ = ACP_REQUEST_NULL;
};

/// The last two messages are empty, because the other rank has two receives.
Outcome run_exchange(Context& context, Samples& samples, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  fill_pattern(out.data(), bytes, context.row);
  const Pair pair(context);
  Exchange exchange(pair, bytes);
  bool ok = true;
  measure(context.time_ns, 1, samples,
          [&] { ok = exchange.turn(out.data()) == bytes && ok; });
  ok = ok && has_pattern(exchange.received(), bytes, context.row);
  exchange.send(nullptr, 0);
  exchange.send(nullptr, 0);
  ok = exchange.finish() == bytes && ok;
  return expect(ok, "received bytes differ");
}

void respond_exchange(Context& context, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  fill_pattern(out.data(), bytes, context.row);
  const Pair pair(context);
  Exchange exchange(pair, bytes);
  while (exchange.turn(out.data()) == bytes) {
  }
  exchange.finish();
}

Row exchange_row(std::size_t bytes) {
  return {.name = "channel.exchange." + size_name(bytes),
          .what = "a message in each direction, receives posted before",
          .unit = Unit::kBandwidth,
          .bytes = bytes,
          .needs = Needs::kPeer,
          .partners = Partners::kRankOne,
          .raw_direct = "put." + size_name(bytes),
          .raw_network = "put." + size_name(bytes),
          .run =
              [bytes](Context& context, Samples& samples) {
                return run_exchange(context, samples, bytes);
              },
          .respond =
              [bytes](Context& context) {
                respond_exchange(context, bytes);
              }};
}

}  // namespace

/// Only the row of 8 bytes has raw rows to compare with: no raw row copies a
/// message of the larger sizes there and back.
Row channel_round_trip_row(std::uint64_t bytes) {
  const bool is_word = bytes == 8;
  return {.name = "channel." + size_name(bytes),
          .what = "a message there and back, half of the time",
          .unit = bytes < 1 << 20 ? Unit::kTime : Unit::kBandwidth,
          .bytes = bytes,
          .needs = Needs::kPeer,
          .partners = Partners::kRankOne,
          .raw_direct = is_word ? "raw.line" : "",
          .raw_network = is_word ? "put8" : "",
          .run =
              [bytes](Context& context, Samples& samples) {
                return run_ping_pong(context, samples, bytes);
              },
          .respond =
              [bytes](Context& context) {
                respond_ping_pong(context, bytes);
              }};
}

Row channel_stream_row(std::uint64_t bytes) {
  return {.name = "channel.stream." + size_name(bytes),
          .what = "messages one way, many posted at a time",
          .unit = bytes == 8 ? Unit::kRate : Unit::kBandwidth,
          .bytes = bytes,
          .needs = Needs::kPeer,
          .partners = Partners::kRankOne,
          .run =
              [bytes](Context& context, Samples& samples) {
                return run_stream(context, samples, bytes);
              },
          .respond =
              [bytes](Context& context) {
                respond_stream(context, bytes);
              }};
}

void add_channel_rows(Rows& rows) {
  append(rows, {channel_round_trip_row(8), channel_round_trip_row(4096),
                channel_round_trip_row(1 << 20), exchange_row(64 << 10),
                channel_stream_row(8), channel_stream_row(1 << 20)});
}

}  // namespace acp::perf
