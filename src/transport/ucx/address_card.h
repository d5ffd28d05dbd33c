// The address card: the bytes that a process publishes before the first
// contact, so that all others can reach its UCX workers. At most
// protocol::kLongCardBytes. Little-endian:
//
//   offset 0  u32 magic      'UCXC'
//          4  u8  version    2
//          5  u8  colors     1 .. kMaxColors
//          6  u8  atomics    Executor
//          7  u8  text       bytes of the text that follows
//          8  u32 API        version of the UCP library: major << 16 | minor
//         12  u8  host       bytes of the name that follows the text
//         13  text           UCX_TLS of the process; first kMaxText bytes
//             name           of the process's host; first kMaxHostName bytes
//             per color: u16 size, then the worker's address;
//                        u16 size, then its address of network devices alone
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protocol/host_segment.h"
#include "transport/transport.h"

namespace acp::ucx {

inline constexpr transport::Color kMaxColors = 8;
inline constexpr std::size_t kMaxText = 250;
inline constexpr std::size_t kMaxHostName = 64;

/// The executor of 8-byte atomics on a process's memory.
enum class Executor : std::uint8_t { kCpu = 0, kDevice = 1 };

/// The value of ACP_UCX_ATOMICS that chooses the executor.
const char* executor_name(Executor executor) noexcept;

/// The addresses of a worker, as bytes that UCX has packed. A plain value.
struct WorkerAddresses {
  /// Peers on the worker's host use it. It has UCX's shared memory as well.
  std::vector<std::byte> all{};
  /// Peers on other hosts use it. It has network devices alone, and is empty in
  /// a job on one host. docs/ucx.md, "Endpoints", says why.
  std::vector<std::byte> network{};

  friend bool operator==(const WorkerAddresses&,
                         const WorkerAddresses&) = default;
};

/// A plain value.
struct AddressCard {
  Executor atomics = Executor::kCpu;
  std::uint32_t api = 0;
  std::string tls{};   ///< UCX_TLS; empty when it is not set.
  std::string host{};  ///< Name of the process's host, for messages.
  std::vector<WorkerAddresses> addresses{};  ///< By color.

  friend bool operator==(const AddressCard&, const AddressCard&) = default;
};

/// Returns the bytes of an address card. How many depends on
/// the devices; the caller compares them with the room.
std::vector<std::byte> encode_card(const AddressCard& card);

/// Pure: bytes to address card. Bytes after the last color are ignored. Nothing
/// when the bytes are no valid address card of this version.
std::optional<AddressCard> decode_card(std::span<const std::byte> bytes);

}  // namespace acp::ucx
