// What the patterns of qmp_perf cost two bare UDP sockets: no hash, no copy
// into place, no acknowledgement. Nothing that sends by such sockets is faster.
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "loopback_socket.h"
#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

/// Datagrams that one rank sends in a round: 31 at most.
struct Pattern {
  std::uint64_t datagrams = 1;
  std::size_t bytes = 0;      ///< Of each.
  bool is_ping_pong = false;  ///< Rank 1 sends when it has received all; else
                              ///< both send, and then receive.
};

/// As the smallest message of QMP is, with what goes along.
constexpr Pattern kExchange{1, 132, false};
/// Two messages of 64 KiB each way, in equal parts.
constexpr Pattern kHalo{4, 32'900, false};
constexpr Pattern kLarge{18, 58'255, true};

/// After this long it is asked for.
constexpr std::int64_t kLostNs = 200'000'000;
constexpr int kBuffer = 4 << 20;

/// Index of the datagram that asks for a round again.
constexpr std::uint64_t kQuestion = 31;

/// One rank's part. A round is sent again only to who asks for it, and nobody
/// is more than one round ahead.
class Player {
 public:
  Player(const LoopbackSocket& socket, const Pattern& pattern)
      : socket_(socket),
        pattern_(pattern),
        out_(pattern.datagrams * pattern.bytes),
        in_(out_.size()) {}

  void start(std::uint64_t round) {
    started_ = round;
    send(round);
  }

  /// False when the row ended first.
  template <typename IsOver>
  bool receive(std::uint64_t round, IsOver is_over) {
    const std::uint64_t all = (std::uint64_t{1} << pattern_.datagrams) - 1;
    std::uint64_t seen = std::exchange(ahead_, 0);
    std::uint64_t tries = 0;
    std::int64_t deadline = now_ns() + kLostNs;
    for (std::size_t at = 0; seen != all;) {
      const auto room = std::span(in_).subspan(at, pattern_.bytes);
      if (socket_.receive(room)) {
        at = (at + pattern_.bytes) % in_.size();
        std::uint64_t number = 0;
        std::memcpy(&number, room.data(), sizeof number);
        take(number, round, seen);
      } else if (is_over()) {
        return false;
      } else if (++tries % 256 == 0 && now_ns() > deadline) {
        send_one(round, kQuestion);
        deadline = now_ns() + kLostNs;
      }
    }
    return true;
  }

 private:
  void send(std::uint64_t round) {
    for (std::uint64_t i = 0; i < pattern_.datagrams; ++i) {
      send_one(round, i);
    }
  }

  void send_one(std::uint64_t round, std::uint64_t index) {
    const std::uint64_t place = index % pattern_.datagrams;
    const auto datagram =
        std::span(out_).subspan(place * pattern_.bytes, pattern_.bytes);
    const std::uint64_t number = round * 32 + index;
    std::memcpy(datagram.data(), &number, sizeof number);
    socket_.send(datagram);
  }

  void take(std::uint64_t number, std::uint64_t round, std::uint64_t& seen) {
    const std::uint64_t its_round = number / 32;
    const std::uint64_t index = number % 32;
    if (index == kQuestion) {
      if (its_round <= started_) {
        send(its_round);
      }
    } else if (its_round == round) {
      seen |= std::uint64_t{1} << index;
    } else if (its_round == round + 1) {
      ahead_ |= std::uint64_t{1} << index;
    }
  }

  const LoopbackSocket& socket_;
  const Pattern& pattern_;
  std::vector<std::byte> out_;
  std::vector<std::byte> in_;
  std::uint64_t started_ = 0;
  std::uint64_t ahead_ = 0;  ///< Seen of the round after the present one.
};

/// Whether what may be under way fits the receive buffer, as the kernel counts.
bool has_room(const LoopbackSocket& socket, const Pattern& pattern) {
  const std::uint64_t rounds = pattern.is_ping_pong ? 1 : 2;
  return socket.grow_buffer(kBuffer) >=
         2 * rounds * pattern.datagrams * pattern.bytes;
}

Verdict run_pattern(Context& context,
                    Samples& samples,
                    const Pattern& pattern) {
  const LoopbackSocket socket;
  const bool fits = has_room(socket, pattern);
  if (!socket.meet_rank_one(context)) {
    return {.failure = {}, .skipped = "no UDP socket on 127.0.0.1"};
  }
  if (!fits) {
    return {.failure = {}, .skipped = "net.core.rmem_max is too small"};
  }
  Player player(socket, pattern);
  std::uint64_t round = 0;
  measure(context.time_ns, pattern.is_ping_pong ? 2 : 1, samples, [&] {
    player.start(++round);
    (void)player.receive(round, [] { return false; });
  });
  return {};
}

void respond_pattern(Context& context, const Pattern& pattern) {
  const LoopbackSocket socket;
  const bool fits = has_room(socket, pattern);
  if (!socket.meet_rank_zero(context) || !fits) {
    return;
  }
  Player player(socket, pattern);
  const auto is_over = [&context] {
    return context.is_row_over();
  };
  for (std::uint64_t round = 1;; ++round) {
    if (!pattern.is_ping_pong) {
      player.start(round);
    }
    if (!player.receive(round, is_over)) {
      return;
    }
    if (pattern.is_ping_pong) {
      player.start(round);
    }
  }
}

Row pattern_row(std::string name, std::string what, const Pattern& pattern) {
  Row row;
  row.name = std::move(name);
  row.what = std::move(what);
  row.needs = Needs::kSameHost;
  row.partners = Partners::kRankOne;
  row.run = [&pattern](Context& context, Samples& samples) {
    return run_pattern(context, samples, pattern);
  };
  row.respond = [&pattern](Context& context) {
    respond_pattern(context, pattern);
  };
  return row;
}

}  // namespace

void add_raw_udp_pattern_rows(Rows& rows) {
  rows.push_back(pattern_row("raw.udp.exchange",
                             "132 bytes each way at once over UDP", kExchange));
  rows.push_back(pattern_row(
      "raw.udp.halo", "4 datagrams of 32,900 bytes each way at once", kHalo));
  rows.push_back(pattern_row(
      "raw.udp.1M", "half a round trip of 1 MiB in 18 datagrams", kLarge));
}

}  // namespace acp::perf
