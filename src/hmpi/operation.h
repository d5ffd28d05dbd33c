// Sends and receives as the engine sees them: bytes, a peer, a tag.
// Types, statuses and handles of MPI are above.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "hmpi/matching.h"
#include "hmpi/message.h"
#include "hmpi/send_record.h"

namespace hmpi {

/// One communicator of this process, whose members on this host are known.
struct Context {
  Context(std::uint64_t number, std::size_t peers)
      : id(number), matching(peers) {}

  std::uint64_t id;
  Matching matching;
};

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};

/// Memory of malloc.
using Bytes = std::unique_ptr<std::byte, FreeMemory>;

/// A send to a process of this host.
struct Send : ListNode {
  Peer peer = 0;
  Envelope envelope;
  const std::byte* data = nullptr;  ///< Until the send is complete.
  Kind kind = Kind::kInline;        ///< kGive: `data` is what is given.
  bool is_synchronous = false;      ///< Complete when the receiver has it.
  bool is_buffered = false;         ///< Has to be copied at once.
  bool is_complete = false;
  /// Data that had to be packed: in library memory, and `data` is null, or in
  /// memory of malloc, where `data` is.
  void* block = nullptr;
  Bytes staging;
  /// The offer, while the send is not complete, and its data. The record is
  /// memory of all processes, so no address is read back from there.
  SendRecord* record = nullptr;
  const std::byte* offered = nullptr;
};

class Engine;

/// A receive from processes of this host. A derived class may also have a twin:
/// the same receive, posted to the MPI below.
struct Receive : PostedReceive {
  Receive() = default;
  Receive(const Receive&) = delete;
  Receive& operator=(const Receive&) = delete;
  virtual ~Receive() = default;

  enum class Claim {
    kMine,   ///< The local message is this receive's.
    kTaken,  ///< The MPI below has already filled this receive.
    kLater,  ///< Not decided, or not to be asked by this thread.
  };

  /// Asks whether a local message may have this receive. After kMine and
  /// kTaken the receive has no twin any more.
  virtual Claim claim(bool /*is_library_thread*/) { return Claim::kMine; }

  Context* context = nullptr;
  std::byte* buffer = nullptr;  ///< null with is_packed until the match.
  std::size_t capacity = 0;     ///< Bytes of the buffer.
  bool is_packed = false;       ///< The bytes go to `staging`.
  bool takes_buffer = false;    ///< OPI_Take: the result is `given`.
  Bytes staging;

  bool is_matched = false;
  bool is_complete = false;
  Envelope envelope;           ///< The message's, once matched.
  std::byte* given = nullptr;  ///< The buffer that was passed, or null.
  std::size_t received = 0;    ///< Bytes written.

  /// From the match of an offer until the data are read: the offer's record and
  /// sender, and whether this receive has taken the record.
  SendRecord* record = nullptr;
  Peer from = 0;
  bool is_taken = false;
  /// While both ends copy: the sender's data. While they bounce: null, and
  /// `copied` has the bytes that came out of the bounce buffer.
  const std::byte* data = nullptr;
  std::size_t copied = 0;
};

/// A message that no receive has asked for.
struct Arrived : UnexpectedMessage {
  Message message;
  Bytes copy;  ///< A copy of inline data.
};

}  // namespace hmpi
