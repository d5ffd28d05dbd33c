// What the two ends of a connection say to each other about memory: rows of a
// packet that are no messages. Little-endian:
//
//   all     offset 0  u8  kind
//                  1  3 B zero
//                  4  u32 key       index in the owner's key table
//                  8  u32 epoch     resets so far; of another one: ignored
//                 12  u32 rkey      kRegion, else 0
//                 16  u64 offset    kWant: asked for. kRegion: of the window
//                 24  u64 state     kRegion, kRevoke, kRevoked: of the entry
//                 32  u64 size      kRegion: of the window; 0: there is none
//                 40  u64 address   kRegion: of the window, in the owner
//
// docs/verbs.md, "Keys", has the rules.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace acp::verbs {

inline constexpr std::size_t kControlBytes = 48;

enum class ControlKind : std::uint8_t {
  kWant = 1,     ///< How do I reach this memory of yours?
  kRegion = 2,   ///< The answer.
  kRevoke = 3,   ///< Reach it no more, and say when that is so.
  kRevoked = 4,  ///< It is so.
};

/// A plain value.
struct Control {
  ControlKind kind = ControlKind::kWant;
  std::uint32_t key = 0;
  std::uint32_t epoch = 0;
  std::uint32_t rkey = 0;
  std::uint64_t offset = 0;
  std::uint64_t state = 0;
  std::uint64_t size = 0;
  std::uint64_t address = 0;

  friend bool operator==(const Control&, const Control&) = default;
};

std::array<std::byte, kControlBytes> encode_control(const Control& control);

/// Pure. Nothing when no process of ours would have written it.
std::optional<Control> decode_control(std::span<const std::byte> bytes);

}  // namespace acp::verbs
