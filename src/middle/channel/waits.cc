// Waiting for a request: acp_wait_ch, acp_waitall_ch and acpx_wait_ch_timeout,
// called by channel_api.cc. A waiting thread drives the end itself, and sleeps
// in acpx_wait_until. It holds no lock while it sleeps.
#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/immortal.h"
#include "middle/channel/channels.h"
#include "middle/channel/handles.h"
#include "middle/log.h"

namespace acp::middle::channel {

namespace {

/// Looks at memory, 2 to 4 us together, before a waiting thread calls
/// acpx_wait_until. A rank on another core answers within that time, and the
/// call costs more than a look. No pass of progress is made meanwhile, so
/// thousands of looks would delay the answers to other ranks. Reasoned, not
/// measured; 64 to 1024 keep that order of size.
constexpr int kLooks = 256;
/// Looks between two that take the lock: another thread may have completed the
/// request. Fewer looks make the two threads contend for the lock. More let
/// this thread see the end later. A divisor of kLooks, from 8 on.
constexpr int kLooksPerLock = 32;
/// Turns of a wait between two checks whether the job is ending. Each turn has
/// moved something, or posting was refused. A check is a pass of progress, so
/// few turns would slow the wait down. A turn takes microseconds, so ten times
/// as many would still see the end of the job soon.
constexpr std::uint32_t kTurnsPerLook = 1024;
/// A wait at an end without a sender asks after each nap whether the sending
/// rank can still connect. Each nap is twice as long as the one before. A
/// question is a get from that rank. The wait fails at most kLongestNapMs after
/// it could have known, so the limits trade its delay against such gets.
constexpr int kFirstNapMs = 100;
constexpr int kLongestNapMs = 1000;

int is_never_over(void* /*unused*/) {
  return 0;
}

/// The time limit of a wait. It is looked at only before the thread sleeps, so
/// a wait that moves something goes on.
class TimeLimit {
 public:
  explicit TimeLimit(int timeout_ms) : is_endless_(timeout_ms < 0) {
    if (!is_endless_) {
      end_ = SteadyClock().now() + std::chrono::milliseconds(timeout_ms);
    }
  }

  /// Milliseconds for acpx_wait_until, at most `longest`, where -1 is no limit.
  int left_ms(int longest) const {
    if (is_endless_) {
      return longest;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        end_ - SteadyClock().now());
    const auto ms = std::clamp<std::int64_t>(left.count(), 0, INT_MAX);
    return longest < 0 ? static_cast<int>(ms)
                       : std::min(longest, static_cast<int>(ms));
  }

  bool is_over() const { return left_ms(-1) == 0; }

 private:
  bool is_endless_;
  TimePoint end_{};
};

std::string name_of(const End& end) {
  return fmt::format("channel {:#x} from rank {} to rank {}", end.handle,
                     end.sending_rank, end.receiving_rank);
}

/// Says why a receive has failed, and what the program has to change.
std::string explain(const End& end, int error) {
  if (error != ACPX_CLOSED) {
    return fmt::format("the message was not copied: {}", acpx_strerror(error));
  }
  if (end.has_lost_sender) {
    return fmt::format(
        "rank {} is in acp_finalize or acp_reset and has not created its end; "
        "each end needs an acp_create_ch of both ranks",
        end.sending_rank);
  }
  return fmt::format(
      "rank {} has ended its end, in acp_free_ch or acp_finalize, and "
      "the message will not come; each receive needs a send before that",
      end.sending_rank);
}

}  // namespace

/// A request that a thread waits for.
struct Channels::Sought {
  Channels* channels;
  End* end;
  std::uint32_t index;
  std::uint32_t generation;

  Request* find() const { return end->requests.find(index, generation); }
};

namespace {

/// The text with a life without end, as acprun's roll-call needs it. There are
/// as many as this rank has partners, for each of two functions.
const char* kept(const std::string& text) {
  static Immortal<std::mutex> mutex;
  static Immortal<std::set<std::string>> texts;
  const std::lock_guard lock(*mutex);
  return texts->insert(text).first->c_str();
}

/// "acp_wait_ch (receive) for rank 3", which acprun's summary understands. The
/// caller holds the end's lock.
const char* name_of_wait(const char* function, End& end) {
  if (end.waiting_function != function) {
    const bool sends = end.sender != nullptr;
    end.waiting_function = function;
    end.shown_wait = kept(
        fmt::format("{} ({}) for rank {}", function, sends ? "send" : "receive",
                    sends ? end.receiving_rank : end.sending_rank));
  }
  return end.shown_wait;
}

}  // namespace

/// Drives the end, spins once after each progress, and then sleeps in
/// acpx_wait_until.
std::size_t Channels::wait(const char* function,
                           RequestHandle handle,
                           int timeout_ms) {
  const TimeLimit limit(timeout_ms);
  End* end = table_.find(end_index_of_request(handle));
  Sought sought{this, end, index_of(handle), generation_of(handle)};
  bool has_spun = false;  // since the end made progress
  std::uint32_t turns = 0;
  int nap_ms = kFirstNapMs;
  const char* shown = function;
  while (end != nullptr) {
    bool has_moved = false;
    bool lacks_sender = false;
    std::optional<std::size_t> result;
    {
      const std::lock_guard lock(end->lock);
      Request* request = sought.find();
      if (request == nullptr) {
        break;
      }
      if (request->state == RequestState::kPending) {
        has_moved = drive(*end);
      } else if (end->sender != nullptr) {
        end->sender->wake_receiver();
      }
      if (request->state != RequestState::kPending) {
        result = conclude(function, *end, *request);
      } else {
        lacks_sender = end->lacks_sender();
        shown = name_of_wait(function, *end);
      }
    }
    free_useless_blocks();
    if (result.has_value()) {
      return *result;
    }
    const bool may_spin = end->is_direct && !has_spun;
    has_spun = !has_moved;
    if (has_moved || (may_spin && spin(*end, sought))) {
      // A refused post is tried again at once, so this loop has to notice the
      // end of the job by itself.
      if (++turns % kTurnsPerLook != 0 ||
          acpx_wait_until(is_never_over, nullptr, 0) >= 0) {
        continue;
      }
      return kWaitFailed;
    }
    const char* before = acpx_enter_call(shown);
    const int waited = acpx_wait_until(
        is_over, &sought, limit.left_ms(lacks_sender ? nap_ms : -1));
    acpx_leave_call(before);
    if (waited < 0) {
      return kWaitFailed;
    }
    if (waited != 0 && limit.is_over()) {
      return kWaitTimedOut;
    }
    if (waited != 0) {
      ask_for_sender(*end);
      nap_ms = std::min(2 * nap_ms, kLongestNapMs);
    }
  }
  log_error("{}({:#x}): no such request; each can be waited for once", function,
            handle);
  acp_errno = ACPX_INVALID_ARGUMENT;
  return kWaitFailed;
}

/// Waits for every request, also after a failure, and reports the first error.
int Channels::wait_all(const acp_request_t* requests,
                       int count,
                       std::size_t* sizes) {
  if (count < 0 || (requests == nullptr && count != 0)) {
    log_error("acp_waitall_ch({}, {}): no requests",
              static_cast<const void*>(requests), count);
    acp_errno = ACPX_INVALID_ARGUMENT;
    return -1;
  }
  int first_error = 0;
  for (int i = 0; i < count; ++i) {
    const std::size_t size =
        wait("acp_waitall_ch", reinterpret_cast<std::uintptr_t>(requests[i]));
    if (sizes != nullptr) {
      sizes[i] = size;
    }
    if (size == kWaitFailed && first_error == 0) {
      first_error = acp_errno;
    }
  }
  if (first_error != 0) {
    acp_errno = first_error;
  }
  return first_error == 0 ? 0 : -1;
}

/// Asks once more whether the sending rank of a receiver can still connect. The
/// progress steps take the answer, and fail the receives if it cannot.
void Channels::ask_for_sender(End& end) {
  int sender = -1;
  {
    const std::lock_guard lock(end.lock);
    if (!end.lacks_sender()) {
      return;
    }
    sender = end.receiver->sender();
  }
  const std::lock_guard lock(connector_lock_);
  connector_.ask(sender);
}

/// Ends a request that is complete and returns its result. The end's lock is
/// held.
std::size_t Channels::conclude(const char* function,
                               End& end,
                               Request& request) {
  std::size_t result = request.is_receive ? request.done : 0;
  if (request.state == RequestState::kFailed) [[unlikely]] {
    log_error("{}: {}: {}", function, name_of(end),
              explain(end, request.error));
    acp_errno = request.error;
    result = kWaitFailed;
  }
  end.requests.give_back(request);
  if (!end.has_end()) [[unlikely]] {
    recycle(end);
  }
  return result;
}

/// Polls the next header for a short while. An answer of a rank on another core
/// takes less. True: look again.
bool Channels::spin(End& end, const Sought& sought) {
  for (int look = 1; look <= kLooks; ++look) {
    if (end.has_record()) {
      return true;
    }
    if (look % kLooksPerLock == 0) {
      const std::lock_guard lock(end.lock);
      const Request* request = sought.find();
      if (request == nullptr || request->state != RequestState::kPending) {
        return true;
      }
      if (drive(end)) {
        return true;
      }
    }
    pause_cpu();
  }
  return false;
}

/// The condition for acpx_wait_until. The doorbell is asked for before the last
/// look, so that no message is missed by a thread that goes to sleep.
int Channels::is_over(void* argument) {
  auto& sought = *static_cast<Sought*>(argument);
  End& end = *sought.end;
  const std::lock_guard lock(end.lock);
  const Request* request = sought.find();
  if (request == nullptr) {
    return 1;
  }
  const auto has_moved = [&] {
    return sought.channels->drive(end) ||
           request->state != RequestState::kPending;
  };
  return has_moved() || (end.ask() && has_moved()) ? 1 : 0;
}

}  // namespace acp::middle::channel
