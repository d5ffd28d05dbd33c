// All channels of this process: handles, waiting, progress, start and end. This
// class makes what acp/channel.h promises of ends (end.h) and the connector
// (connector.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "acp/channel.h"
#include "base/spin_lock.h"
#include "middle/channel/connector.h"
#include "middle/channel/end.h"
#include "middle/channel/handles.h"
#include "middle/channel/site.h"

namespace acp::middle::channel {

inline constexpr std::size_t kWaitFailed = SIZE_MAX;
/// The request is not complete yet, and the time is over.
inline constexpr std::size_t kWaitTimedOut = SIZE_MAX - 1;

enum class Way : std::uint8_t { kSend, kReceive };

/// Thread-safe between init() and fini(), which one thread calls. Failures set
/// acp_errno and are logged. Locks are taken in the order connector_lock_, the
/// lock of an end, list_lock_. No thread waits with one of them held, also not
/// in a call of the heap, which waits where it has no CPU atomics.
class Channels {
 public:
  /// Adds the module, as middle/modules.cc wants it.
  static int add_module(int (*add)(const acpx_module_t*));

  /// The part of middle::leave_job() that is this module's.
  static void leave_job() noexcept;

  /// Returns 0, or -1.
  int init();
  /// Completes what was sent and ends all channels. Collective. Returns 0, or
  /// -1.
  int fini();

  bool is_running() const {
    return is_running_.load(std::memory_order_acquire);
  }

  ChannelHandle create(int sender, int receiver);
  RequestHandle post(Way way,
                     ChannelHandle channel,
                     void* buffer,
                     std::size_t size);
  /// Errors name `function`, which the program called.
  RequestHandle free(const char* function, ChannelHandle channel);

  /// Returns what acp_wait_ch returns, or kWaitTimedOut. A negative timeout_ms
  /// waits without end.
  std::size_t wait(const char* function,
                   RequestHandle handle,
                   int timeout_ms = -1);
  /// Returns what acp_waitall_ch returns.
  int wait_all(const acp_request_t* requests, int count, std::size_t* sizes);

 private:
  struct Sought;

  End* find(ChannelHandle channel) const;
  End* unused_end();
  acp_ga_t allocate_block(bool is_sender, bool is_direct) const;
  void make_end(End& end, int sender, int receiver, acp_ga_t block);
  RequestHandle free_end(const char* function, End& end, ChannelHandle channel);
  void begin_progress();
  static int run_step(void* self);
  int step();
  enum class Which : std::uint8_t { kListed, kAll };
  bool drive_ends(Which which);

  /// Drives an end, and settles it when it is closing. Its lock is held.
  bool drive(End& end) {
    const bool has_worked = end.advance();
    if (end.is_closing()) [[unlikely]] {
      settle(end);
    }
    return has_worked;
  }

  void settle(End& end);
  void release(End& end);
  void free_later(acp_ga_t block);
  void free_useless_blocks();
  void count_live_end();
  void recycle(End& end);
  bool list(End& end);
  void leave(End& end);
  void ask_for_sender(End& end);
  std::size_t conclude(const char* function, End& end, Request& request);
  bool spin(End& end, const Sought& sought);
  static int is_over(void* argument);
  static int has_ended(void* self);

  /// Stored with release order by init(), when all is made, and by fini().
  /// Pairs with the acquire in is_running(), so a thread sees what init() made.
  std::atomic<bool> is_running_{false};
  Site site_;
  EndTable table_;

  SpinLock connector_lock_;  ///< Guards connector_.
  Connector connector_{site_};
  /// Used by the progress step; init() makes it 0.
  std::uint64_t closed_ends_seen_ = 0;

  SpinLock list_lock_;  ///< Guards the members up to useless_blocks_.
  std::vector<End*> listed_;
  std::vector<std::uint32_t> unused_ends_;
  std::uint32_t ends_made_ = 0;  ///< Ends ever made; grows only.
  std::uint32_t live_ends_ = 0;  ///< Ends with memory, that are not gone.
  bool has_step_ = false;
  std::vector<acp_ga_t> useless_blocks_;

  /// Held while blocks are freed, which may wait. The step never takes it.
  std::mutex freeing_;
  /// Blocks that are in useless_blocks_, or are being freed.
  std::atomic<std::size_t> unfreed_{0};

  std::vector<End*> driven_;  ///< Used by the progress step alone.
};

/// The process's channels.
Channels& channels();

}  // namespace acp::middle::channel
