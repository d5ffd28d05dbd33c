// Keeps the address cards that ranks of one host have asked for. So acprun is
// asked once for each rank of another host, and not by each rank of this one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace acp::launcher {

/// Address cards do not change after acp_init, and ranks ask after it. So each
/// is kept until newer ones need its room.
///
/// Used by the thread of the event loop, which alone touches all fields. Pure.
class CardCache {
 public:
  /// Most memory that the kept ones take, with kOverhead for each of them.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;
  static constexpr std::size_t kOverhead = 128;

  /// The answer to a rank that asks.
  enum class Answer : std::uint8_t {
    kHere,   ///< It is here: find() returns it.
    kAsk,    ///< The caller asks acprun. take() names the slot later.
    kUnder,  ///< Another rank has asked, and take() names this slot as well.
  };

  /// The rank in `slot` asks for the address card of the rank `wanted`.
  Answer ask(std::uint32_t slot, std::uint32_t wanted);

  /// The address card of this rank. Only after ask() has returned kHere.
  std::string_view find(std::uint32_t wanted) const;

  /// Takes acprun's answer and keeps it. Returns the slots that have asked. The
  /// oldest address cards go where it needs their room, and an answer that is
  /// too large for all of the room is not kept.
  std::vector<std::uint32_t> take(std::uint32_t wanted, std::string card);

  /// Memory that the kept ones take, with kOverhead for each of them.
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::unordered_map<std::uint32_t, std::string> kept_;
  std::deque<std::uint32_t> oldest_;  ///< The keys of kept_, oldest first.
  std::size_t bytes_ = 0;
  /// Slots that wait, by the rank whose address card acprun was asked for.
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> waiting_;
};

}  // namespace acp::launcher
