// The connection between a seat and the process that joins it. Both are on one
// host and belong to one user, which both check.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "status/result.h"

namespace acp::launcher {

/// Messages between seat and join command, after the gift.
enum class SeatMessageType : std::uint32_t {
  kSignal,   ///< Seat to join command. value: signal.
  kEnded,    ///< Join command to seat. value: wait status of the program.
  kNoStart,  ///< Join command to seat. value: errno of exec.
};

struct SeatMessage {
  SeatMessageType type = SeatMessageType::kSignal;
  std::int32_t value = 0;
};

/// A seat gives away the rank's descriptors 0, 1, 2 and its bootstrap
/// socket, and the variables of the rank.
struct SeatGift {
  std::array<UniqueFd, 4> descriptors;
  std::vector<std::string> variables;  ///< "NAME=value".
};

/// The listening socket of a rank's seat, non-blocking. Its name is abstract:
/// no file. Fails with kSystem, logged.
Result<UniqueFd> listen_at_seat(std::string_view token, std::uint32_t rank);

/// Takes the next connection. Empty, with errno: EAGAIN when there is none, or
/// when it was one of another user, which is closed.
UniqueFd accept_at_seat(int listener);

/// Connects to the seat; empty when nobody of the same user listens.
UniqueFd connect_to_seat(std::string_view token, std::uint32_t rank);

/// Sends the gift. False: the other side is gone.
bool give(int socket,
          const std::array<int, 4>& descriptors,
          const std::vector<std::string>& variables);
/// Waits for the gift. nullopt: the seat is gone.
std::optional<SeatGift> receive_gift(int socket);

/// False: the other side is gone.
bool send_to_seat(int socket, SeatMessage message);
/// Waits for one message; nullopt: the other side is gone.
std::optional<SeatMessage> receive_seat_message(int socket);

}  // namespace acp::launcher
