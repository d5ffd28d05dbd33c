// All channels of this process: handles, waiting, progress, start and end.
// What acp/channel.h promises is made here from ends (end.h) and calls
// (connector.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "acp/channel.h"
#include "middle/channel/connector.h"
#include "middle/channel/end.h"
#include "middle/channel/handles.h"
#include "middle/channel/site.h"
#include "middle/spin_lock.h"

namespace acp::middle::channel {

inline constexpr std::size_t kWaitFailed = SIZE_MAX;

enum class Way : std::uint8_t { kSend, kReceive };

/// Thread-safe between init() and fini(), which one thread calls. Failures set
/// acp_errno and are logged.
class Channels {
 public:
  /// Adds the module, as middle/modules.cc wants it.
  static int add_module(int (*add)(const acpx_module_t*));

  /// The part of middle::leave_job() that is this module's.
  static void leave_job() noexcept;

  /// 0, or -1.
  int init();
  /// Completes what was sent, ends all channels. Collective. 0, or -1.
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

  /// What acp_wait_ch returns.
  std::size_t wait(const char* function, RequestHandle handle);
  /// What acp_waitall_ch returns.
  int wait_all(const acp_request_t* requests, int count, std::size_t* sizes);

 private:
  struct Sought;

  End* find(ChannelHandle channel) const;
  End* unused_end();
  bool make_end(End& end, int sender, int receiver);
  void begin_progress();
  static int run_step(void* self);
  int step();
  enum class Which : std::uint8_t { kListed, kAll };
  bool drive_ends(Which which);

  /// Moves an end on, and notes what became of it. Its lock is held.
  bool drive(End& end) {
    const bool has_worked = end.advance();
    if (end.is_closing()) [[unlikely]] {
      settle(end);
    }
    return has_worked;
  }

  void settle(End& end);
  void release(End& end);
  void recycle(End& end);
  bool list(End& end);
  void leave(End& end);
  std::size_t conclude(const char* function, End& end, Request& request);
  bool spin(End& end, const Sought& sought);
  static int is_over(void* argument);
  static int has_ended(void* self);

  std::atomic<bool> is_running_{false};
  Site site_;
  EndTable table_;

  SpinLock connector_lock_;  ///< Guards connector_; before the locks of ends.
  Connector connector_{site_};
  std::uint64_t closed_ends_seen_ = 0;  ///< The step's own.

  SpinLock list_lock_;  ///< Guards what follows; after the locks of ends.
  std::vector<End*> listed_;
  std::vector<std::uint32_t> unused_ends_;
  std::uint32_t ends_made_ = 0;  ///< Ever used; grows only.
  std::uint32_t live_ends_ = 0;  ///< Not gone.
  bool has_step_ = false;

  std::vector<End*> driven_;  ///< The step's own.
};

/// The process's.
Channels& channels();

}  // namespace acp::middle::channel
