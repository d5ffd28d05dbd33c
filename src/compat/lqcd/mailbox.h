// Messages to named receives. A send writes a request into the inbox of the
// receiving host: where the bytes are, and for which name. That host matches
// requests with receives and fetches the bytes straight into the buffer of the
// receive. So a receiver need not know who sends, and no buffer is written
// before its receive is started.
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
#include "compat/lqcd/global_bytes.h"
#include "inbox/inbox.h"

namespace lqcd {

/// Sends of up to so many bytes are copied at their start.
inline constexpr std::size_t kSnapshotBytes = 4096;

/// The message in the inbox: a send that waits for its receive.
struct Request {
  acp_ga_t source;  ///< Address of the bytes, if there are any.
  std::uint64_t bytes;
  acp_ga_t answer;  ///< Word of the sender for an Answer.
  std::int32_t name;
  std::int32_t unused;
};

static_assert(sizeof(Request) <= inbox::kMessageBytes);

/// The module memory of each rank; inbox.h has the protocol.
struct Inbox {
  std::uint64_t tail;  ///< Tickets given out.
  std::byte unused[56];
  inbox::Cell cell[inbox::kCells];
};

static_assert(offsetof(Inbox, cell) == 64);

enum class Answer : std::uint64_t { kNone = 0, kFetched = 1, kTooLong = 2 };

/// A declared send or receive. Mailbox::mutex_ guards it.
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

/// All messages of this process, from initMachine to shutdownMachine.
/// Thread-safe; nothing waits.
class Mailbox {
 public:
  Mailbox() = default;
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox();

  /// The memory of `module` on each rank is an Inbox.
  bool begin(int module);
  /// Stops fetching and sending, and completes operations under way. All hosts
  /// have come here.
  void close();

  /// Keeps a copy, which it returns. Registers a buffer above kSnapshotBytes.
  Handle* declare(const Handle& declared);

  /// Starts a handle. False: it is active.
  bool start(Handle* handle);
  /// Sends one copy to all `ranks`. False: no memory.
  bool broadcast(const void* data,
                 std::size_t bytes,
                 const std::vector<int>& ranks,
                 int name);

  /// Makes progress, and tells whether the handle is not active.
  bool is_over(const Handle* handle);
  /// The state of a handle that is not active. The handle is idle then.
  Handle::State collect(Handle* handle);

 private:
  /// A send between its start and its answer.
  struct Posting {
    /// The request for the receiver, and the word that it answers into.
    struct Scratch {
      inbox::Scratch request;
      std::uint64_t answer;
      std::uint64_t unused;
    };

    inbox::Delivery delivery;
    std::unique_ptr<GlobalBytes> memory;
    std::shared_ptr<GlobalBytes> copy;
    Handle* sender = nullptr;  ///< None: the bytes are a copy.

    Scratch& scratch() const {
      return *reinterpret_cast<Scratch*>(memory->data());
    }
  };

  /// A request and its receive, until the bytes are there.
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
  bool send();
  bool collect_answers();
  bool receive();
  void match(int name);
  bool issue(Fetch& fetch);
  bool fetch();
  acp_ga_t registered(std::byte* buffer, std::size_t bytes);

  std::mutex mutex_;  ///< Guards the members below and all handles.
  int module_ = -1;
  bool is_closing_ = false;
  bool is_running_ = false;  ///< The progress step is added.
  inbox::Reader reader_;
  std::list<std::unique_ptr<Handle>> handles_;
  std::map<int, std::deque<Posting>>
      outgoing_;  ///< By rank; the first is on its way.
  /// Delivered; the receiver has not answered.
  std::list<Posting> unanswered_;
  std::map<int, std::deque<Request>> requests_;  ///< By name, unmatched.
  std::map<int, std::deque<Handle*>> waiting_;   ///< By name, unmatched.
  /// Requests that have met their receives.
  std::list<Fetch> fetches_;
  std::map<std::pair<std::byte*, std::size_t>, std::pair<acp_atkey_t, acp_ga_t>>
      registered_;
};

}  // namespace lqcd
