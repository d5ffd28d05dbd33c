// Bootstrap messages over a socket: one packet each, with a descriptor if one
// is attached.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/unique_fd.h"
#include "protocol/bootstrap.h"

namespace acp::runtime {

/// The result of receive_message().
struct ReceivedMessage {
  enum class Kind : std::uint8_t {
    kMessage,
    kClosed,    ///< The other side is gone; `error` is 0 or says why.
    kNonsense,  ///< `bytes` bytes that make no message.
    kNothing,   ///< No packet is there, and the caller does not wait.
  };

  Kind kind = Kind::kNothing;
  protocol::BootstrapMessage message;
  UniqueFd attached;
  ssize_t bytes = 0;
  int error = 0;  ///< An errno value.
};

enum class Waiting : std::uint8_t { kBlocks, kNever };

/// Sends one message; returns 0 or an errno value. It raises no SIGPIPE.
int send_message(int socket,
                 const protocol::BootstrapMessage& message,
                 int attached_fd = -1);

/// Receives one message.
ReceivedMessage receive_message(int socket, Waiting waiting);

}  // namespace acp::runtime
