// The private data of a connect request (hello) and of its rejection (refusal).
// Little-endian; rdma_cm may pad them with zeros.
//
//   hello:  offset 0  u32 magic        'ACPV'
//                  4  u8  version      kHelloVersion
//                  5  u8  color
//                  6  u16 packet       bytes of the largest packet
//                  8  u32 source       process that asks
//                 12  u32 destination  process that is asked
//                 16  u32 window       packets that may be under way at most
//                 20  u32 queue pair   PairKind
//                 24  16 B job         the job's random id
//   refusal:       0  u32 magic        'ACPN'
//                  4  u8  reason       Refusal
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/transport.h"

namespace acp::verbs {

/// At most 56 bytes: the private data of a request over InfiniBand.
inline constexpr std::size_t kHelloBytes = 40;
inline constexpr std::size_t kRefusalBytes = 5;

using JobId = std::array<std::uint8_t, 16>;

/// Which queue pair of a connection a request is for.
enum class PairKind : std::uint32_t {
  kSmall = 0,  ///< The first one, of a connection that may grow.
  kLarge = 1,  ///< The first one, with large queues from the start.
  kGrown = 2,  ///< The large one, for a connection that has a small one.
};

/// A plain value.
struct Hello {
  transport::ProcId source = 0;
  transport::ProcId destination = 0;
  transport::Color color = 0;
  std::uint16_t packet_bytes = 0;
  std::uint32_t window = 0;
  PairKind pair = PairKind::kLarge;
  JobId job{};

  friend bool operator==(const Hello&, const Hello&) = default;
};

/// Why a request of this job's process is refused.
enum class Refusal : std::uint8_t {
  kCrossed = 1,  ///< The attempt of the asked side wins.
  kGone = 2,     ///< The asked process has given up on the asking one.
  /// No large queue pair by this request: the asked process can make none, or
  /// its endpoint is not ready, is moving or has moved.
  kStaySmall = 3,
};

std::array<std::byte, kHelloBytes> encode_hello(const Hello& hello);
std::array<std::byte, kRefusalBytes> encode_refusal(Refusal refusal);

/// Pure. Nothing when the bytes are not valid.
std::optional<Hello> decode_hello(std::span<const std::byte> bytes);
std::optional<Refusal> decode_refusal(std::span<const std::byte> bytes);

}  // namespace acp::verbs
