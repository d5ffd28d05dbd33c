// Messages to named receives. A send puts a request into the inbox of the
// host: where its bytes are, and for which name. The host matches requests with
// receives and fetches the bytes straight into the receive's buffer. So the
// receiver need not know who sends, and nothing is written before it is ready.
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

/// Messages of up to so many bytes are copies.
inline constexpr std::size_t kSnapshotBytes = 4096;

/// What a send asks of the receiver.
struct Request {
  acp_ga_t source;  ///< The bytes; not looked at when there are none.
  std::uint64_t bytes;
  acp_ga_t answer;  ///< A word of the sender: an Answer.
  std::int32_t name;
  std::int32_t unused;
};

static_assert(sizeof(Request) <= inbox::kMessageBytes);

/// The memory of the module, on each rank.
struct Inbox {
  std::uint64_t tail;  ///< Tickets given out.
  std::byte unused[56];
  inbox::Cell cell[inbox::kCells];
};

static_assert(offsetof(Inbox, cell) == 64);

enum class Answer : std::uint64_t { kNone = 0, kFetched = 1, kTooLong = 2 };

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
  /// A message on its way out.
  struct Posting {
    /// What the receiver reads, and where it answers.
    struct Scratch {
      inbox::Scratch request;
      std::uint64_t answer;
      std::uint64_t unused;
    };

    inbox::Delivery delivery;
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
  bool send();
  bool collect_answers();
  bool receive();
  void match(int name);
  bool issue(Fetch& fetch);
  bool fetch();
  acp_ga_t registered(std::byte* buffer, std::size_t bytes);

  std::mutex mutex_;  ///< Guards all that follows.
  int module_ = -1;
  bool is_closing_ = false;
  bool is_running_ = false;  ///< The progress step.
  inbox::Reader reader_;
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
