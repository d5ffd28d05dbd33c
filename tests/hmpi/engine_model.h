// A model of the messages that a rank of a random program receives, and of the
// order that MPI demands.
// The messages of each sender are planned before the program runs, so the
// receiver knows them all. Only the order between two senders is open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hmpi/matching.h"

namespace hmpi::test {

/// Random words of 32 bits (splitmix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint32_t operator()() {
    std::uint64_t word = state_ += 0x9e37'79b9'7f4a'7c15;
    word = (word ^ word >> 30) * 0xbf58'476d'1ce4'e5b9;
    word = (word ^ word >> 27) * 0x94d0'49bb'1331'11eb;
    return static_cast<std::uint32_t>(word >> 32);
  }

 private:
  std::uint64_t state_;
};

enum class Way : std::uint8_t {
  kShort,  ///< Engine::send_short(), or else kStandard.
  kStandard,
  kSynchronous,
  kBuffered,
  kPackedBlock,  ///< Packed into a block of library memory.
  kPackedBytes,  ///< Packed into memory of malloc.
  kPackedSynchronous,
  kGiveBuffer,  ///< A buffer of OPI_Alloc.
  kGiveBlock,   ///< A block of the heap.
  kGivePart,    ///< The middle of a block.
};

inline constexpr std::uint32_t kWays = 10;

struct Planned {
  std::uint32_t context = 0;
  std::int32_t tag = 0;
  std::size_t size = 0;
  std::size_t offset = 0;  ///< pattern() has its bytes.
  Way way = Way::kStandard;
  bool is_in_library = false;
};

/// The messages of a rank to a rank, in the order of their sends.
using Stream = std::vector<Planned>;

/// A receive gets a message that fits these.
struct Wanted {
  std::uint32_t context = 0;
  Peer peer = kAnyPeer;
  std::int32_t tag = kAnyTag;

  bool fits(std::uint32_t other, Peer sender, std::int32_t number) const {
    return context == other && (peer == kAnyPeer || peer == sender) &&
           (tag == kAnyTag || tag == number);
  }
};

/// The receives of a rank beside MPI's rules.
class Inbox {
 public:
  /// `streams` lead to this rank, one from each peer, and stay in place.
  explicit Inbox(const std::vector<const Stream*>& streams);

  /// Messages that no receive has got.
  std::size_t left() const { return left_; }

  /// One of the oldest messages of a context that no receive has got, and its
  /// sender; or null.
  const Planned* pick(Random& random,
                      std::uint32_t context,
                      Peer& sender) const;

  /// A receive begins. Returns its number.
  std::uint64_t post(const Wanted& wanted);

  /// A receive has not got a message and gets none.
  void withdraw(std::uint64_t number);

  /// A receive has got a message. Calls come in the order in which they did.
  /// Returns the message; null: MPI forbids it, and `mistake` says why.
  const Planned* match(std::uint64_t number,
                       Peer sender,
                       std::uint32_t context,
                       std::int32_t tag,
                       std::string& mistake);

 private:
  struct Posted {
    std::uint64_t number = 0;
    Wanted wanted;
  };

  struct Entry {
    const Planned* planned = nullptr;
    std::uint64_t number = 0;  ///< Its receive's; 0: none yet.
  };

  /// The messages of one sender and one context.
  struct Line {
    std::vector<Entry> entries;
    std::size_t floor = 0;  ///< All entries in front have their receives.
    std::uint64_t newest_below_floor = 0;  ///< Their receives'.
    std::map<std::int32_t, std::uint64_t> newest_of_tag;
  };

  std::string check_order(const Line& line,
                          const Posted& posted,
                          const Entry& entry) const;

  std::map<std::pair<std::uint32_t, Peer>, Line> lines_;
  std::vector<Posted> posted_;
  std::uint64_t next_number_ = 1;
  std::size_t left_ = 0;
};

}  // namespace hmpi::test
