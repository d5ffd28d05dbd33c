// The start and the end of all channels of a job. The basic layer calls them as
// a module, from acp_init, acp_finalize and acp_reset. No lock may be held
// while the end waits for peers.
#include <bit>
#include <mutex>

#include "middle/channel/channels.h"
#include "middle/end_of_job.h"

namespace acp::middle::channel {

namespace {

/// The result of fini() after a wait that has failed. When the job ends, other
/// lines tell the user why, and a failure of this module would say nothing.
int result_of_end() {
  return is_end_of_job(acp_errno) ? 0 : -1;
}

}  // namespace

void Channels::leave_job() noexcept {
  channels().is_running_.store(false, std::memory_order_relaxed);
}

int Channels::init() {
  std::uint64_t bytes = 0;
  if (acpx_setting("ACP_CH_BUFFER", &bytes) != 0) {
    return -1;
  }
  site_.rank = acp_rank();
  site_.ring_bytes = std::bit_floor(bytes);
  site_.mine =
      static_cast<RankBlock*>(acp_query_address(site_.block_of(site_.rank)));
  closed_ends_seen_ = 0;
  is_running_.store(true, std::memory_order_release);
  return 0;
}

/// Every rank comes here, whatever its program does. Requests that no end waits
/// for are refused, and what was not received is dropped. All ends therefore
/// get their answers, and after the barrier no rank touches another's memory.
int Channels::fini() {
  {
    const std::lock_guard lock(connector_lock_);
    connector_.refuse_unexpected();
  }
  for (std::uint32_t i = 0; i < ends_made_; ++i) {
    End& end = *table_.find(i);
    const std::lock_guard lock(end.lock);
    end.generation = end.generation % UINT32_MAX + 1;
    if (end.sender != nullptr) {
      end.sender->close();
    } else if (end.receiver != nullptr) {
      end.receiver->close();
    }
    list(end);
  }
  {
    const std::lock_guard lock(list_lock_);
    ++live_ends_;  // keeps the progress step until the barrier is over
  }
  begin_progress();
  if (acpx_wait_until(has_ended, this, -1) != 0) {
    return result_of_end();
  }
  // If the barrier fails the job is ending, and no rank uses what is freed
  // here.
  const int result = acp_sync() == 0 ? 0 : result_of_end();
  acpx_remove_progress(run_step, this);
  has_step_ = false;
  is_running_.store(false, std::memory_order_release);
  connector_.clear();
  listed_.clear();
  for (std::uint32_t i = ends_made_; i-- > 0;) {
    End& end = *table_.find(i);
    release(end);
    end.requests.clear();
    end.is_listed = false;
    end.is_in_use = false;
  }
  free_useless_blocks();
  live_ends_ = 0;
  unused_ends_.clear();
  for (std::uint32_t i = ends_made_; i-- > 0;) {
    unused_ends_.push_back(i);
  }
  return result;
}

/// Whether all ends have their answers. It also tells receivers of other ranks
/// when no connect request of this rank can follow. Receivers that were never
/// connected do not wait for any.
int Channels::has_ended(void* self) {
  auto& all = *static_cast<Channels*>(self);
  const std::lock_guard connector_lock(all.connector_lock_);
  if (all.connector_.has_posted_all()) {
    store(all.site_.mine->has_left, 1);
  }
  if (!all.connector_.is_idle()) {
    return 0;
  }
  for (std::uint32_t i = 0; i < all.ends_made_; ++i) {
    End& end = *all.table_.find(i);
    const std::lock_guard lock(end.lock);
    if (end.sender != nullptr ||
        (end.receiver != nullptr && !end.receiver->is_waiting())) {
      return 0;
    }
  }
  return 1;
}

int Channels::add_module(int (*add)(const acpx_module_t*)) {
  acpx_module_t module{};
  module.name = "channels";
  module.bytes = sizeof(RankBlock);
  module.init = [](void*) {
    return channels().init();
  };
  module.fini = [](void*) {
    return channels().fini();
  };
  const int number = add(&module);
  if (number < 0) {
    return -1;
  }
  channels().site_.module = number;
  return 0;
}

}  // namespace acp::middle::channel
