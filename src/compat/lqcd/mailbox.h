// Messages to named receives. A send writes an offer into the inbox of the
// receiving host: where the bytes are, and for which name. That host matches
// offers with receives and fetches the bytes straight into the buffer of the
// receive. So a receiver need not know who sends, and no buffer is written
// before its receive is started.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "acp.h"
#include "compat/lqcd/fetches.h"
#include "compat/lqcd/global_bytes.h"
#include "compat/lqcd/message.h"
#include "inbox/inbox.h"
#include "inbox/lock.h"

namespace lqcd {

/// Sends of up to so many bytes are copied at their start.
inline constexpr std::size_t kSnapshotBytes = 4096;

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
    /// The offer for the receiver, and the word that it answers into.
    struct Scratch {
      inbox::Scratch offer;
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
  acp_ga_t registered(std::byte* buffer, std::size_t bytes);

  inbox::Lock lock_;         ///< Guards the members below and all handles.
  int module_ = -1;          ///< Written by begin().
  bool is_closing_ = false;  ///< Set by close().
  bool is_running_ = false;  ///< The progress step is added.
  inbox::Reader reader_;
  /// Added by declare(); they stay until the end.
  std::list<std::unique_ptr<Handle>> handles_;
  std::map<int, std::deque<Posting>>
      outgoing_;  ///< By rank; the first is on its way.
  /// Delivered; the receiver has not answered.
  std::list<Posting> unanswered_;
  std::map<int, std::deque<Offer>> offers_;     ///< By name, unmatched.
  std::map<int, std::deque<Handle*>> waiting_;  ///< By name, unmatched.
  Fetches fetches_;
  /// Keys and addresses of buffers. Added by registered().
  std::map<std::pair<std::byte*, std::size_t>, std::pair<acp_atkey_t, acp_ga_t>>
      registered_;
};

}  // namespace lqcd
