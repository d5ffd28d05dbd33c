// Raw rows of the patterns of qmp_perf over two bare UDP sockets, without
// acknowledgements and credit. They bound QMP over udp from below. In the rows
// .checked both sides also hash the data and the receiver copies them. They
// bound a library that verifies data before they reach the program's memory.
// rows.cc lists them, and runner.cc runs them. They may call no function of ACP
// while they measure.
#ifdef ACP_HAS_XXHASH_DISPATCH
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "pair_socket.h"
#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

struct Pattern {
  const char* name;
  const char* what;
  std::uint64_t datagrams;  ///< Datagrams per rank in a round, at most 31.
  std::size_t bytes;        ///< Size of each datagram.
  bool is_ping_pong;        ///< Rank 1 sends only when it has received all;
                            ///< else both ranks send first, then receive.
  bool is_checked;  ///< Both ranks hash the data, and the receiver copies them.
};

/// Numbers and sizes of the datagrams into which QMP over udp divides these
/// messages, headers included.
constexpr std::array kPatterns = {
    Pattern{"raw.udp.exchange", "132 bytes each way at once over UDP", 1, 132,
            false, false},
    Pattern{"raw.udp.4K", "half a round trip of 4 KiB in a datagram", 1, 4'228,
            true, false},
    Pattern{"raw.udp.4K.checked", "the same, hashed and copied into place", 1,
            4'228, true, true},
    Pattern{"raw.udp.64K", "half a round trip of 64 KiB in 2 datagrams", 2,
            32'900, true, false},
    Pattern{"raw.udp.64K.checked", "the same, hashed and copied into place", 2,
            32'900, true, true},
    Pattern{"raw.udp.1M", "half a round trip of 1 MiB in 18 datagrams", 18,
            58'386, true, false},
    Pattern{"raw.udp.1M.checked", "the same, hashed and copied into place", 18,
            58'386, true, true},
    Pattern{"raw.udp.halo", "4 datagrams of 32,900 bytes each way at once", 4,
            32'900, false, false},
    Pattern{"raw.udp.halo.checked", "the same, hashed and copied into place", 4,
            32'900, false, true},
};

/// A datagram begins with its hash, which only checked patterns fill, and its
/// number.
constexpr std::size_t kHashBytes = 8;

std::uint64_t hash_of(std::span<const std::byte> datagram) {
  const auto hashed = datagram.subspan(kHashBytes);
  return XXH3_64bits(hashed.data(), hashed.size());
}

std::uint64_t word_at(std::span<const std::byte> datagram, std::size_t offset) {
  std::uint64_t word = 0;
  std::memcpy(&word, datagram.data() + offset, sizeof word);
  return word;
}

/// A rank that has waited this long asks for the round again.
constexpr std::int64_t kAskAgainNs = 200'000'000;
constexpr int kBuffer = 4 << 20;

/// Index of the datagram that asks for a round again.
constexpr std::uint64_t kQuestion = 31;

/// One rank's side of a pattern. A rank resends a round only when it is asked
/// to. Neither rank is more than one round ahead of the other.
class Player {
 public:
  Player(const PairSocket& socket, const Pattern& pattern)
      : socket_(socket),
        pattern_(pattern),
        out_(pattern.datagrams * pattern.bytes),
        in_(out_.size()),
        room_(pattern.bytes) {}

  void start(std::uint64_t round) {
    started_ = round;
    send(round);
  }

  /// Receives the datagrams of `round`. A time-out means a loss, and asks the
  /// other rank to send the round again. False when the row ended first.
  template <typename IsOver>
  bool receive(std::uint64_t round, IsOver is_over) {
    const std::uint64_t all = (std::uint64_t{1} << pattern_.datagrams) - 1;
    std::uint64_t seen = std::exchange(ahead_, 0);
    std::uint64_t tries = 0;
    std::int64_t deadline = now_ns() + kAskAgainNs;
    for (std::size_t at = 0; seen != all;) {
      const auto room = pattern_.is_checked
                            ? std::span(room_)
                            : std::span(in_).subspan(at, pattern_.bytes);
      if (socket_.receive(room)) {
        at = (at + pattern_.bytes) % in_.size();
        take(room, round, seen);
      } else if (is_over()) {
        return false;
      } else if (++tries % 256 == 0 && now_ns() > deadline) {
        send_one(round, kQuestion);
        deadline = now_ns() + kAskAgainNs;
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
    const std::uint64_t position = index % pattern_.datagrams;
    const auto datagram =
        std::span(out_).subspan(position * pattern_.bytes, pattern_.bytes);
    const std::uint64_t number = round * 32 + index;
    std::memcpy(datagram.data() + kHashBytes, &number, sizeof number);
    if (pattern_.is_checked) {
      const std::uint64_t hash = hash_of(datagram);
      std::memcpy(datagram.data(), &hash, sizeof hash);
    }
    socket_.send(datagram);
  }

  /// Notes the datagrams of this round, and those of the next round, which the
  /// faster side may have sent. A question of the other side means that it has
  /// lost a datagram of a round.
  void take(std::span<const std::byte> datagram,
            std::uint64_t round,
            std::uint64_t& seen) {
    if (pattern_.is_checked && hash_of(datagram) != word_at(datagram, 0)) {
      return;  // a wrong hash counts as a loss
    }
    const std::uint64_t number = word_at(datagram, kHashBytes);
    const std::uint64_t its_round = number / 32;
    const std::uint64_t index = number % 32;
    if (index == kQuestion) {
      if (its_round <= started_) {
        send(its_round);
      }
      return;
    }
    if (its_round == round) {
      seen |= std::uint64_t{1} << index;
    } else if (its_round == round + 1) {
      ahead_ |= std::uint64_t{1} << index;
    }
    if (pattern_.is_checked) {
      std::memcpy(in_.data() + index * pattern_.bytes, datagram.data(),
                  datagram.size());
    }
  }

  const PairSocket& socket_;
  const Pattern& pattern_;
  std::vector<std::byte> out_;
  std::vector<std::byte> in_;
  std::vector<std::byte> room_;  ///< A datagram until its hash is checked.
  std::uint64_t started_ = 0;    ///< The last round that start() sent.
  std::uint64_t ahead_ = 0;      ///< Bit per datagram seen of the next round.
};

/// Whether all datagrams that may be in flight fit the receive buffer. The
/// kernel counts up to twice their bytes.
bool has_room(const PairSocket& socket, const Pattern& pattern) {
  const std::uint64_t rounds = pattern.is_ping_pong ? 1 : 2;
  return socket.grow_buffer(kBuffer) >=
         2 * rounds * pattern.datagrams * pattern.bytes;
}

Outcome run_pattern(Context& context,
                    Samples& samples,
                    const Pattern& pattern) {
  PairSocket socket(context);
  const bool fits = has_room(socket, pattern);
  if (!socket.meet()) {
    return {.failure = {}, .skipped = kNoPair};
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

/// In a ping-pong rank 1 sends a round only after it has received it. In the
/// other patterns it sends first: both directions are busy at a time.
void respond_pattern(Context& context, const Pattern& pattern) {
  PairSocket socket(context);
  const bool fits = has_room(socket, pattern);
  if (!socket.meet() || !fits) {
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

}  // namespace

void add_raw_udp_pattern_rows(Rows& rows) {
  for (const Pattern& pattern : kPatterns) {
    append(rows, {{.name = pattern.name,
                   .what = pattern.what,
                   .needs = Needs::kPeer,
                   .partners = Partners::kRankOne,
                   .run =
                       [&pattern](Context& context, Samples& samples) {
                         return run_pattern(context, samples, pattern);
                       },
                   .respond =
                       [&pattern](Context& context) {
                         respond_pattern(context, pattern);
                       }}});
  }
}

}  // namespace acp::perf
