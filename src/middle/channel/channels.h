// All channels of this process: handles, waiting, progress, start and end.
// What acp/channel.h promises is made here from ends (endpoint.h) and calls
// (calls.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "acp/channel.h"
#include "middle/channel/calls.h"
#include "middle/channel/endpoint.h"
#include "middle/channel/site.h"
#include "middle/spin_lock.h"

namespace acp::middle::channel {

/// Handles as numbers; 0 is none.
using ChannelHandle = std::uint64_t;
using RequestHandle = std::uint64_t;

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

  Endpoint* find(ChannelHandle channel) const;
  Endpoint* new_place();
  bool make_end(Endpoint& endpoint, int sender, int receiver);
  void begin_progress();
  static int run_step(void* self);
  int step();
  bool look_at(bool has_news);
  bool drive(Endpoint& endpoint);
  void settle(Endpoint& endpoint);
  void release(Endpoint& endpoint);
  void recycle(Endpoint& endpoint);
  bool list(Endpoint& endpoint);
  void leave(Endpoint& endpoint);
  std::size_t conclude(const char* function,
                       Endpoint& endpoint,
                       Request& request);
  bool spin(Endpoint& endpoint, const Sought& sought);
  static int is_over(void* argument);
  static int has_ended(void* self);

  std::atomic<bool> is_running_{false};
  Site site_;
  EndpointTable table_;

  SpinLock calls_lock_;  ///< Guards calls_; before the locks of ends.
  Calls calls_{site_};
  std::uint64_t news_seen_ = 0;  ///< The step's own.

  SpinLock list_lock_;  ///< Guards what follows; after the locks of ends.
  std::vector<Endpoint*> listed_;
  std::vector<std::uint32_t> unused_places_;
  std::uint32_t places_ = 0;  ///< Ever used; grows only.
  std::uint32_t ends_ = 0;    ///< Not gone.
  bool has_step_ = false;

  std::vector<Endpoint*> looked_at_;  ///< The step's own.
};

/// The process's.
Channels& channels();

}  // namespace acp::middle::channel
