// Messages to named receives. A send puts a request into the inbox of the
// host: where its bytes are, and for which name. The host matches requests with
// receives and fetches the bytes straight into the receive's buffer. So the
// receiver need not know who sends, and nothing is written before it is ready.
//
//   inbox of each rank, in the memory of the module:
//     offset 0   tail: tickets given out
//     offset 64  256 cells of 64 bytes: {word, request}
//
// Ticket t writes cell t % 256 when its word is 2 * lap, and sets it to
// 2 * lap + 1, lap = t / 256; the owner empties it by 2 * lap + 2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "acp.h"

namespace lqcd {

/// Messages of up to so many bytes are copies.
inline constexpr std::size_t kSnapshotBytes = 4096;

inline constexpr std::size_t kCells = 256;

/// What a send asks of the receiver.
struct Request {
  acp_ga_t source;  ///< The bytes; not looked at when there are none.
  std::uint64_t bytes;
  acp_ga_t answer;  ///< A word of the sender: an Answer.
  std::int32_t name;
  std::int32_t unused;
};

struct Cell {
  std::uint64_t word;
  Request request;
  std::byte unused[64 - sizeof(std::uint64_t) - sizeof(Request)];
};

struct Inbox {
  std::uint64_t tail;
  std::byte unused[56];
  Cell cell[kCells];
};

static_assert(sizeof(Cell) == 64 && offsetof(Inbox, cell) == 64);

enum class Answer : std::uint64_t { kNone = 0, kFetched = 1, kTooLong = 2 };

/// Bytes of this process that have a global address. Move-only by pointer.
class GlobalBytes {
 public:
  /// nullptr when there is no memory, or no key.
  static std::unique_ptr<GlobalBytes> make(std::size_t bytes);
  GlobalBytes(const GlobalBytes&) = delete;
  GlobalBytes& operator=(const GlobalBytes&) = delete;
  ~GlobalBytes();

  std::byte* data() const { return data_; }

  acp_ga_t address() const { return address_; }

 private:
  GlobalBytes() = default;

  std::byte* data_ = nullptr;
  acp_ga_t address_ = ACP_GA_NULL;
  std::unique_ptr<std::byte[]> owned_;  ///< None: from acp_malloc.
  acp_atkey_t key_ = ACP_ATKEY_NULL;
};

/// A declared send or receive.
struct Handle {
  enum class Kind { kSend, kReceive };
  enum class State { kIdle, kActive, kDone, kTooLong, kNoMemory };

  Kind kind = Kind::kSend;
  std::byte* buffer = nullptr;
  std::size_t bytes = 0;
  int host = 0;  ///< Of a send, as the program counts.
  int rank = 0;  ///< The same as a rank.
  int name = 0;
  acp_ga_t address = ACP_GA_NULL;  ///< Of the buffer, when it is registered.
  acp_handle_t fetch = ACP_HANDLE_NULL;
  std::uint64_t length = 0;  ///< Of the message.
  State state = State::kIdle;
};

/// One per process, from initMachine to shutdownMachine. Thread-safe.
class Mailbox {
 public:
  Mailbox() = default;
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox();

  /// `module`: each rank's memory begins with an Inbox.
  bool begin(int module);
  /// Stops fetching and sending, and completes what is under way here. The
  /// others have come here, too.
  void close();

  /// Takes it over; registers its buffer when that is large.
  Handle* declare(const Handle& declared);

  /// False: it is active.
  bool start(Handle* handle);
  /// One copy to all of them; false: no memory.
  bool broadcast(const void* data,
                 std::size_t bytes,
                 const std::vector<int>& ranks,
                 int name);

  /// Makes progress; whether the handle is not active any more.
  bool is_over(const Handle* handle);
  /// What became of a handle that is not active, which is idle then.
  Handle::State collect(Handle* handle);

 private:
  enum class Stage { kTake, kTaken, kLook, kLooked, kWritten, kOver };

  /// A message on its way out.
  struct Posting {
    /// Where results of operations and the answer go.
    struct Scratch {
      std::uint64_t ticket;
      std::uint64_t word;
      std::uint64_t answer;
      Request request;
      std::uint64_t unused;
    };

    Stage stage = Stage::kTake;
    acp_handle_t handle = ACP_HANDLE_NULL;
    std::uint64_t ticket = 0;
    std::unique_ptr<GlobalBytes> memory;
    std::shared_ptr<GlobalBytes> copy;
    Handle* sender = nullptr;  ///< None: its bytes are a copy.

    Scratch& scratch() const {
      return *reinterpret_cast<Scratch*>(memory->data());
    }
  };

  struct Fetch {
    Handle* receiver = nullptr;
    Request request{};
    std::unique_ptr<GlobalBytes> bounce;
    acp_handle_t handle = ACP_HANDLE_NULL;
  };

  static int run_step(void* self);
  bool advance();
  bool post(int rank,
            int name,
            acp_ga_t source,
            std::size_t bytes,
            std::shared_ptr<GlobalBytes> copy,
            Handle* sender);
  bool start_send(Handle* handle);
  bool move(Posting& posting, int rank);
  bool send();
  bool collect_answers();
  bool receive();
  void match(int name);
  bool issue(Fetch& fetch);
  bool fetch();
  acp_ga_t registered(std::byte* buffer, std::size_t bytes);

  std::mutex mutex_;  ///< Guards all that follows.
  int module_ = -1;
  Inbox* mine_ = nullptr;
  bool is_closing_ = false;
  bool is_running_ = false;  ///< The progress step.
  std::uint64_t received_ = 0;
  std::list<std::unique_ptr<Handle>> handles_;
  std::map<int, std::deque<Posting>> outgoing_;  ///< By rank, in order.
  std::list<Posting> unanswered_;
  std::map<int, std::deque<Request>> requests_;  ///< By name, unmatched.
  std::map<int, std::deque<Handle*>> waiting_;   ///< By name, unmatched.
  std::list<Fetch> fetches_;
  std::map<std::pair<std::byte*, std::size_t>, std::pair<acp_atkey_t, acp_ga_t>>
      registered_;
};

}  // namespace lqcd
