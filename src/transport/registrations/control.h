// Control frames: by them the two ends of an endpoint tell each other of their
// registrations. They travel in packets beside messages. Little-endian:
//
//   all     offset 0  u8  kind
//                  1  3 B zero
//                  4  u32 key       index in the owner's key table
//                  8  u32 epoch     resets so far; another epoch is ignored
//                 12  u32 rkey      bytes of the packed rkey, or 0
//                 16  u64 offset    of the registration; kWant: wanted byte
//                 24  u64 state     all but kWant: of the entry
//                 32  u64 size      of the registration; 0: there is none
//                 40  u64 address   of the registration, in the owner
//                 48  packed rkey
//
// Only kRegistration and kAnnounce have a registration.
// docs/verbs.md, "Keys", has the rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace acp::transport {

/// Bytes of a control frame without its rkey.
inline constexpr std::size_t kControlBytes = 48;

enum class ControlKind : std::uint8_t {
  kWant = 1,          ///< Asks for the registration of a byte.
  kRegistration = 2,  ///< Answers with a registration, or with none.
  kRevoke = 3,        ///< Demands that a region is dropped.
  kRevoked = 4,       ///< Confirms that it is dropped.
  kAnnounce = 5,      ///< Tells of a registration before anybody has asked.
};

/// A plain value.
struct Control {
  ControlKind kind = ControlKind::kWant;
  std::uint32_t key = 0;
  std::uint32_t epoch = 0;
  std::uint64_t offset = 0;
  std::uint64_t state = 0;
  std::uint64_t size = 0;
  std::uint64_t address = 0;
  /// The bytes by which the network reaches the registration; only the network
  /// reads them.
  std::vector<std::byte> rkey{};

  friend bool operator==(const Control&, const Control&) = default;
};

std::vector<std::byte> encode_control(const Control& control);

/// Pure. Nothing when the bytes are no valid control frame.
std::optional<Control> decode_control(std::span<const std::byte> bytes);

}  // namespace acp::transport
