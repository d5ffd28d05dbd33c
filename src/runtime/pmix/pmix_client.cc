// The client of PMIx, which mpirun of Open MPI and srun --mpi=pmix serve. It is
// in a module, because only machines with such a launcher have libpmix. Called
// by the bootstrap through the module's entry point. A callback of libpmix may
// only store its result and wake the caller.
//
// libpmix has a thread of its own, which calls the callbacks below. An MPI
// library of the program uses the same libpmix: PMIx_Init and PMIx_Finalize
// count their calls.
#include "runtime/pmix/pmix_client.h"

#include <fmt/core.h>
#include <pmix.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/blocked_signals.h"
#include "base/immortal.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/unique_fd.h"

namespace acp::runtime {

namespace {

/// PMIx has no limit for a value; this one keeps each message small.
constexpr std::size_t kValueLimit = 65'535;

/// Time for the launcher to end this process after an abort.
constexpr Duration kAbortLimit = std::chrono::seconds(1);

/// Readable once the connection to the launcher's process is lost. The handler
/// has no argument of ours, so the descriptor is global; it stays open.
std::atomic<int> g_lost_event{-1};

void signal_event(int event) noexcept {
  const std::uint64_t one = 1;
  (void)!::write(event, &one, sizeof one);
}

void on_lost_connection(std::size_t,
                        pmix_status_t,
                        const pmix_proc_t*,
                        pmix_info_t[],
                        std::size_t,
                        pmix_info_t*,
                        std::size_t,
                        pmix_event_notification_cbfunc_fn_t done,
                        void* argument) {
  signal_event(g_lost_event.load(std::memory_order_relaxed));
  if (done != nullptr) {
    done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, argument);
  }
}

/// A fence, an abort or a request for a value that is under way. The callback
/// may come after its caller has given up, so both own it. The callback writes
/// the other fields, and then makes `over` readable.
struct Call {
  UniqueFd over;
  pmix_status_t status = PMIX_SUCCESS;
  pmix_data_type_t type = PMIX_UNDEF;  ///< The value's.
  std::string text;                    ///< The value, where it is a string.
};

/// The argument of a callback, which owns it from then on.
using CallOwner = std::unique_ptr<std::shared_ptr<Call>>;

void on_fence_over(pmix_status_t status, void* argument) {
  const CallOwner call(static_cast<std::shared_ptr<Call>*>(argument));
  (*call)->status = status;
  signal_event((*call)->over.get());
}

/// The value belongs to libpmix.
void on_value(pmix_status_t status, pmix_value_t* value, void* argument) {
  const CallOwner call(static_cast<std::shared_ptr<Call>*>(argument));
  (*call)->status = status;
  if (status == PMIX_SUCCESS && value != nullptr) {
    (*call)->type = value->type;
    if (value->type == PMIX_STRING) {
      (*call)->text = value->data.string;
    }
  }
  signal_event((*call)->over.get());
}

/// Events for the fence of acp_finalize and for an abort, where the program has
/// used up its open files by then.
class SpareEvents {
 public:
  void fill() {
    const std::lock_guard lock(mutex_);
    while (events_.size() < kCount) {
      UniqueFd event(::eventfd(0, EFD_CLOEXEC));
      if (!event) {
        return;
      }
      events_.push_back(std::move(event));
    }
  }

  /// Empty: there is none left.
  UniqueFd take() {
    const std::lock_guard lock(mutex_);
    if (events_.empty()) {
      return {};
    }
    UniqueFd event = std::move(events_.back());
    events_.pop_back();
    return event;
  }

 private:
  static constexpr std::size_t kCount = 2;

  std::mutex mutex_;  ///< Guards events_.
  std::vector<UniqueFd> events_;
};

SpareEvents& spare_events() {
  static Immortal<SpareEvents> events;
  return *events;
}

/// A call that begins; null, logged: it cannot.
std::shared_ptr<Call> make_call() {
  auto call = std::make_shared<Call>();
  call->over.reset(::eventfd(0, EFD_CLOEXEC));
  if (!call->over) {
    const int error = errno;
    call->over = spare_events().take();
    errno = error;
  }
  if (!call->over) {
    log_error("eventfd: {}", errno_text(errno));
    return nullptr;
  }
  return call;
}

/// A value that PMIx has allocated.
struct ReleaseValue {
  void operator()(pmix_value_t* value) const noexcept {
    PMIX_VALUE_RELEASE(value);
  }
};

using Value = std::unique_ptr<pmix_value_t, ReleaseValue>;

std::optional<std::uint32_t> number_of(const Value& value) {
  if (value != nullptr && value->type == PMIX_UINT32) {
    return value->data.uint32;
  }
  return std::nullopt;
}

/// The thread of libpmix inherits the mask of the thread that makes it. With
/// all signals blocked it takes none that the program waits for in its own
/// threads.
pmix_status_t init_without_signals(pmix_proc_t& self) {
  const BlockedSignals blocked;
  return PMIx_Init(&self, nullptr, 0);
}

/// Ends the process when the calls of its scope last longer than a deadline.
/// libpmix waits for its server without a limit, and no call of it can be given
/// up. Nothing else ends the job then, because PMIx_Abort needs the server too.
/// Its thread exists only where there is a deadline.
class AnswerLimit {
 public:
  /// `call` is for the log line.
  AnswerLimit(std::string call, TimePoint deadline) {
    if (deadline == TimePoint::max()) {
      return;
    }
    over_.reset(::eventfd(0, EFD_CLOEXEC));
    if (!over_) {
      return;  // The calls wait without a limit.
    }
    auto thread = start_thread(
        "the limit of PMIx", [this, call = std::move(call), deadline] {
          const WaitLimit limit{deadline, over_.get(), POLLIN};
          pollfd over{over_.get(), POLLIN, 0};
          int found = 0;
          do {
            found = ::poll(&over, 1, limit.poll_timeout_ms());
          } while (found < 0 && errno == EINTR);
          if (found == 0) {
            end_process(call);
          }
        });
    if (thread) {
      thread_ = std::move(*thread);
    }
  }

  AnswerLimit(const AnswerLimit&) = delete;
  AnswerLimit& operator=(const AnswerLimit&) = delete;

  ~AnswerLimit() {
    if (thread_.joinable()) {
      signal_event(over_.get());
      thread_.join();
    }
  }

 private:
  [[noreturn]] static void end_process(const std::string& call) {
    log_error(
        "{}: the launcher's PMIx server does not answer, and ACP_INIT_TIMEOUT "
        "is over: see whether mpirun, prted or slurmstepd of this host is "
        "stopped; a longer ACP_INIT_TIMEOUT helps if it is only slow",
        call);
    ::_exit(kStatusTimeout);
  }

  UniqueFd over_;  ///< Readable when the scope ends.
  std::thread thread_;
};

class Pmix final : public ProcessManager {
 public:
  ~Pmix() override {
    if (is_open_) {
      (void)PMIx_Finalize(nullptr, 0);
    }
  }

  Status connect(const WaitLimit& limit) {
    const AnswerLimit answer("PMIx_Init", limit.deadline);
    const pmix_status_t status = init_without_signals(self_);
    if (status != PMIX_SUCCESS) {
      return failed("PMIx_Init", status);
    }
    is_open_ = true;
    const auto size = number_of(value_of(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE));
    if (!size || self_.rank >= *size) {
      log_error(
          "the launcher gives rank {} of {} ranks by PMIx: it is no launcher "
          "of several ranks",
          self_.rank, size.value_or(0));
      return Status::kProtocol;
    }
    size_ = *size;
    return watch_launcher();
  }

  std::string_view name() const noexcept override { return "pmix"; }

  std::uint32_t rank() const noexcept override { return self_.rank; }

  std::uint32_t size() const noexcept override { return size_; }

  std::size_t value_limit() const noexcept override { return kValueLimit; }

  Result<NodeMap> node_map(const WaitLimit& limit) override {
    const AnswerLimit answer("PMIx_Get", limit.deadline);
    NodeMap map;
    for (std::uint32_t rank = 0; rank < size_; ++rank) {
      const auto node = number_of(value_of(rank, PMIX_NODEID));
      if (!node) {
        return NodeMap();
      }
      map.push_back(*node);
    }
    return map;
  }

  Status put(std::string_view key,
             std::string_view value,
             const WaitLimit&) override {
    const std::string name(key);
    std::string text(value);
    pmix_value_t packed{};
    packed.type = PMIX_STRING;
    packed.data.string = text.data();
    const pmix_status_t status = PMIx_Put(PMIX_GLOBAL, name.c_str(), &packed);
    return status == PMIX_SUCCESS ? Status::kOk : failed("PMIx_Put", status);
  }

  /// The message of a failure names the value and its rank, and then the cause,
  /// because the launcher's own tools show neither. The end of the job ends the
  /// wait, and also the loss of the server.
  Result<std::string> get(std::uint32_t owner,
                          std::string_view key,
                          const WaitLimit& limit) override {
    const std::string name =
        fmt::format("PMIx_Get of {} of rank {}", key, owner);
    const AnswerLimit answer(name, limit.deadline);
    const auto call = make_call();
    if (call == nullptr) {
      return Status::kSystem;
    }
    if (const Status status =
            ask_with_callback(owner, std::string(key), call, limit);
        status != Status::kOk) {
      return status;
    }
    if (call->status != PMIX_SUCCESS) {
      log_error("{}: {}: the launcher has no such value", name,
                PMIx_Error_string(call->status));
      return Status::kProtocol;
    }
    if (call->type != PMIX_STRING) {
      log_error("{}: a value of PMIx type {}, and the rank has put a string",
                name, call->type);
      return Status::kProtocol;
    }
    if (call->text.size() > kValueLimit) {
      log_error(
          "{}: {} characters, and a rank puts {} at most: all hosts need "
          "the same build of the library",
          name, call->text.size(), kValueLimit);
      return Status::kProtocol;
    }
    return std::move(call->text);
  }

  /// A fence that collects brings all values that ranks have ever put. After
  /// one that does not, get() makes the server ask the server of the owner.
  Status fence(FenceValues values, const WaitLimit& limit) override {
    pmix_status_t status = PMIx_Commit();
    if (status != PMIX_SUCCESS) {
      return failed("PMIx_Commit", status);
    }
    const auto fence = make_call();
    if (fence == nullptr) {
      return Status::kSystem;
    }
    pmix_info_t info{};
    std::strncpy(info.key, PMIX_COLLECT_DATA, sizeof info.key - 1);
    info.value.type = PMIX_BOOL;
    info.value.data.flag =
        values == FenceValues::kToAllHosts || is_served_by_slurm();
    pmix_proc_t all = self_;
    all.rank = PMIX_RANK_WILDCARD;
    auto argument = std::make_unique<std::shared_ptr<Call>>(fence);
    status = PMIx_Fence_nb(&all, 1, &info, 1, &on_fence_over, argument.get());
    if (status != PMIX_SUCCESS) {
      return failed("PMIx_Fence_nb", status);
    }
    (void)argument.release();  // the callback's
    const Status waited = wait(*fence, limit);
    return waited == Status::kOk && fence->status != PMIX_SUCCESS
               ? failed("PMIx_Fence_nb", fence->status)
               : waited;
  }

  /// libpmix may be called by several threads.
  bool shares_connection() const noexcept override { return false; }

  /// PMIx_Abort returns when the server has acted. A slurmstepd without a
  /// connection to slurmctld needs 10 s for that, and the caller has to end
  /// this process sooner. The thread goes with the process.
  void abort(int exit_status, std::string_view text) override {
    const auto call = make_call();
    if (call == nullptr) {
      return;
    }
    auto thread = start_thread(
        "the abort of PMIx", [call, exit_status, message = std::string(text)] {
          (void)PMIx_Abort(exit_status, message.c_str(), nullptr, 0);
          signal_event(call->over.get());
        });
    if (thread) {
      thread->detach();
      (void)wait(*call, {.deadline = SteadyClock().now() + kAbortLimit});
    }
  }

  void finalize() override {
    is_open_ = false;
    (void)PMIx_Finalize(nullptr, 0);
  }

  DeathWatch death_watch() const noexcept override {
    return {g_lost_event.load(std::memory_order_relaxed), POLLIN};
  }

 private:
  /// Slurm cannot have fences for values on request. With Slurm 22.05, 22 of 60
  /// jobs did not find a value that a rank had put before such a fence. None of
  /// 20 failed with SLURM_PMIX_FENCE=ring, and 20 of 20 with tree.
  bool is_served_by_slurm() const noexcept {
    return std::string_view(self_.nspace).starts_with("slurm.pmix");
  }

  static Status failed(std::string_view call, pmix_status_t status) {
    log_error(
        "{}: {}; start the program with mpirun or srun --mpi=pmix, or with "
        "acprun",
        call, PMIx_Error_string(status));
    return Status::kProtocol;
  }

  /// Asks for a value and waits for the callback. The deadline is that of
  /// AnswerLimit: after a time-out PMIx_Abort would wait for the server as
  /// well.
  Status ask_with_callback(pmix_rank_t rank,
                           const std::string& key,
                           const std::shared_ptr<Call>& call,
                           WaitLimit limit) const {
    pmix_proc_t proc = self_;
    proc.rank = rank;
    auto argument = std::make_unique<std::shared_ptr<Call>>(call);
    const pmix_status_t status =
        PMIx_Get_nb(&proc, key.c_str(), nullptr, 0, &on_value, argument.get());
    if (status != PMIX_SUCCESS) {
      call->status = status;
      return Status::kOk;
    }
    (void)argument.release();  // the callback's
    limit.deadline = TimePoint::max();
    return wait(*call, limit);
  }

  /// Empty: PMIx has none. The server may wait for a value that no rank has
  /// put.
  Value value_of(pmix_rank_t rank, const char* key) const {
    pmix_proc_t proc = self_;
    proc.rank = rank;
    pmix_value_t* found = nullptr;
    return Value(PMIx_Get(&proc, key, nullptr, 0, &found) == PMIX_SUCCESS
                     ? found
                     : nullptr);
  }

  Status watch_launcher() {
    spare_events().fill();
    if (g_lost_event.load(std::memory_order_relaxed) < 0) {
      const int event = ::eventfd(0, EFD_CLOEXEC);
      if (event < 0) {
        log_error("eventfd: {}", errno_text(errno));
        return Status::kSystem;
      }
      g_lost_event.store(event, std::memory_order_relaxed);
    }
    std::array<pmix_status_t, 1> codes = {PMIX_ERR_LOST_CONNECTION};
    const pmix_status_t status =
        PMIx_Register_event_handler(codes.data(), codes.size(), nullptr, 0,
                                    &on_lost_connection, nullptr, nullptr);
    // Without a callback the call returns the number of the handler.
    return status >= 0 ? Status::kOk
                       : failed("PMIx_Register_event_handler", status);
  }

  /// Looks at the call first: a call that has ended counts, also when the job
  /// ends or the server dies in the same moment. The lost event ends a wait
  /// that PMIx itself would never end.
  static Status wait(const Call& call, const WaitLimit& limit) {
    for (;;) {
      std::array<pollfd, 3> ready{
          {{call.over.get(), POLLIN, 0},
           {limit.end_fd, limit.end_events, 0},
           {g_lost_event.load(std::memory_order_relaxed), POLLIN, 0}}};
      const int found =
          ::poll(ready.data(), ready.size(), limit.poll_timeout_ms());
      if (found == 0) {
        return Status::kTimedOut;
      }
      if (ready[0].revents != 0) {
        std::uint64_t count = 0;
        (void)!::read(call.over.get(), &count, sizeof count);
        return Status::kOk;
      }
      if (ready[1].revents != 0) {
        return Status::kAborted;
      }
      if (ready[2].revents != 0) {
        log_error("the launcher's process on this host is gone");
        return Status::kSystem;
      }
    }
  }

  pmix_proc_t self_{};
  std::uint32_t size_ = 1;
  bool is_open_ = false;  ///< PMIx_Init has succeeded.
};

}  // namespace

Result<std::unique_ptr<ProcessManager>> connect_by_pmix(
    const WaitLimit& limit) {
  auto client = std::make_unique<Pmix>();
  if (const Status status = client->connect(limit); status != Status::kOk) {
    return status;
  }
  return std::unique_ptr<ProcessManager>(std::move(client));
}

}  // namespace acp::runtime
