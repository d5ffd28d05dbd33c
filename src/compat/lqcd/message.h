// The messages of the LQCD message API: offers between hosts, and the sends
// and receives of the program.
#pragma once

#include <cstddef>
#include <cstdint>

#include "acp.h"
#include "inbox/inbox.h"

namespace lqcd {

/// The message in the inbox: a send that waits for its receive.
struct Offer {
  acp_ga_t source;  ///< Address of the bytes, if there are any.
  std::uint64_t bytes;
  acp_ga_t answer;  ///< Word of the sender for an Answer.
  std::int32_t name;
  std::int32_t unused;
};

static_assert(sizeof(Offer) <= inbox::kMessageBytes);

/// The module memory of each rank; inbox.h has the protocol.
struct Inbox {
  std::uint64_t tickets;  ///< The ticket counter.
  std::byte unused[56];
  inbox::Cell cell[inbox::kCells];
};

static_assert(offsetof(Inbox, cell) == 64);

enum class Answer : std::uint64_t { kNone = 0, kFetched = 1, kTooLong = 2 };

/// A declared send or receive. Mailbox::lock_ guards it.
struct Handle {
  enum class Kind { kSend, kReceive };
  enum class State { kIdle, kActive, kDone, kTooLong, kNoMemory };

  Kind kind = Kind::kSend;
  std::byte* buffer = nullptr;
  std::size_t bytes = 0;
  int host = 0;  ///< Receiver of a send, as the program counts.
  int rank = 0;  ///< The rank of that host.
  int name = 0;
  acp_ga_t address = ACP_GA_NULL;  ///< Address of the registered buffer.
  acp_handle_t fetch = ACP_HANDLE_NULL;
  std::uint64_t length = 0;  ///< Bytes of the message.
  State state = State::kIdle;
};

}  // namespace lqcd
