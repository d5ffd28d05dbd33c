// The functions that complete requests. An array may have local requests and
// requests of the MPI below. The latter are tested together, by the MPI below,
// since only it knows which of its persistent requests are inactive.
#include <array>
#include <memory_resource>
#include <span>
#include <vector>

#include "hmpi/api.h"

namespace hmpi {

namespace {

/// The requests of an array, taken apart: local requests, and requests of the
/// MPI below. A short array takes no memory of the heap.
class Apart {
 public:
  /// Null requests are in neither part, and inactive local ones have their own.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): room_ is raw memory
  Apart(int count, MPI_Request* requests)
      : requests_(requests, count > 0 ? static_cast<std::size_t>(count) : 0) {
    local_.reserve(requests_.size());
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const MPI_Request handle = requests_[i];
      if (handle == MPI_REQUEST_NULL) {
        continue;
      }
      Request* request = job().requests.find(handle);
      if (request == nullptr) {
        below_.push_back(handle);
        below_places_.push_back(i);
      } else if (request->is_active) {
        local_.push_back({request, i});
      } else {
        inactive_.push_back(i);
      }
    }
    statuses_.resize(below_.size());
    indices_.resize(below_.size());
  }

  struct Local {
    Request* request;
    std::size_t place;
  };

  std::pmr::vector<Local>& local() { return local_; }

  bool has_below() const { return !below_.empty(); }

  bool is_empty() const { return local_.empty() && below_.empty(); }

  bool are_local_over() {
    Engine& engine = job().engine;
    while (over_ < local_.size() && local_[over_].request->is_over(engine)) {
      ++over_;
    }
    return over_ == local_.size();
  }

  /// The first local request that is over; or null.
  const Local* find_over() {
    Engine& engine = job().engine;
    for (const Local& each : local_) {
      if (each.request->is_over(engine)) {
        return &each;
      }
    }
    return nullptr;
  }

  /// Ends a local request. Its error goes to the status, too.
  int finish(const Local& each, MPI_Status* status, bool is_one_of_several) {
    const int code = job().requests.finish(*each.request, status);
    if (!each.request->is_persistent) {
      requests_[each.place] = MPI_REQUEST_NULL;
    }
    if (is_one_of_several && status != MPI_STATUS_IGNORE) {
      status->MPI_ERROR = code;
    }
    return code;
  }

  /// Tests the requests of the MPI below. After true it is not called again.
  bool are_below_over(int& code) {
    int is_done = 0;
    before_ = below_;
    code = below.Testall(static_cast<int>(below_.size()), below_.data(),
                         &is_done, statuses_.data());
    if (is_done == 0 && code == MPI_SUCCESS) {
      return false;
    }
    for (std::size_t i = 0; i < below_.size(); ++i) {
      put_back(i);
    }
    return true;
  }

  /// The place of a request that the MPI below has completed; -1: not yet, -2:
  /// its requests are inactive.
  int one_below(MPI_Status* status, int& code) {
    int index = MPI_UNDEFINED;
    int is_done = 0;
    before_ = below_;
    code = below.Testany(static_cast<int>(below_.size()), below_.data(), &index,
                         &is_done, status);
    if (is_done == 0) {
      return -1;
    }
    if (index == MPI_UNDEFINED) {
      return -2;
    }
    put_back(static_cast<std::size_t>(index));
    return static_cast<int>(below_places_[static_cast<std::size_t>(index)]);
  }

  /// The number of requests that the MPI below has completed; MPI_UNDEFINED:
  /// its requests are inactive. place_of_some() and status_below() tell more.
  int some_below(int& code) {
    int count = MPI_UNDEFINED;
    before_ = below_;
    code = below.Testsome(static_cast<int>(below_.size()), below_.data(),
                          &count, indices_.data(), statuses_.data());
    for (int i = 0; count != MPI_UNDEFINED && i < count; ++i) {
      put_back(static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]));
    }
    return count;
  }

  std::size_t place_of_some(std::size_t i) const {
    return below_places_[static_cast<std::size_t>(indices_[i])];
  }

  const MPI_Status& status_below(std::size_t i) const { return statuses_[i]; }

  void copy_statuses_below(MPI_Status* statuses) const {
    for (std::size_t i = 0; i < below_.size(); ++i) {
      statuses[below_places_[i]] = statuses_[i];
    }
  }

  /// Null and inactive requests have empty statuses.
  void set_empty_statuses(MPI_Status* statuses) const {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) {
        set_empty(&statuses[i]);
      }
    }
    for (const std::size_t i : inactive_) {
      set_empty(&statuses[i]);
    }
  }

  /// Tells a waiting call about these requests.
  Awaited awaited() const {
    const bool is_one = local_.size() == 1 && below_.empty();
    Request* one = is_one ? local_.front().request : nullptr;
    Awaited result;
    for (const Local& each : local_) {
      result.is_below |= each.request->waits_below();
    }
    result.is_below |= !below_.empty();
    if (one != nullptr && one->work == Request::Work::kSend) {
      result.send = &one->send;
    }
    return result;
  }

 private:
  /// The program's handle after the MPI below has changed the copy of it.
  void put_back(std::size_t i) {
    requests_[below_places_[i]] = below_[i];
    if (below_[i] == MPI_REQUEST_NULL && job().requests.has_duplicates()) {
      job().requests.is_complete_below(before_[i]);
    }
  }

  std::array<std::byte, 1024> room_;
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  std::span<MPI_Request> requests_;
  std::pmr::vector<Local> local_{&memory_};
  std::size_t over_ = 0;  ///< So many of them, in front, are over.
  std::pmr::vector<std::size_t> inactive_{&memory_};
  std::pmr::vector<MPI_Request> below_{&memory_};
  std::pmr::vector<MPI_Request> before_{&memory_};  ///< Before the last test.
  std::pmr::vector<std::size_t> below_places_{&memory_};
  std::pmr::vector<MPI_Status> statuses_{&memory_};
  std::pmr::vector<int> indices_{&memory_};
};

bool may_pass(const Call& call) {
  return call && job().engine.is_idle() && !job().requests.has_duplicates();
}

/// Whether none of these requests is local.
bool are_all_below(int count, const MPI_Request* requests) {
  for (int i = 0; i < count; ++i) {
    if (requests[i] != MPI_REQUEST_NULL &&
        job().requests.find(requests[i]) != nullptr) {
      return false;
    }
  }
  return true;
}

MPI_Status* status_at(MPI_Status* statuses, std::size_t i) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

/// A request of the MPI below, tested beside local progress.
int test_below(MPI_Request* request, int* is_done, MPI_Status* status) {
  const MPI_Request before = *request;
  const int code = below.Test(request, is_done, status);
  if (*is_done != 0 && job().requests.has_duplicates()) {
    job().requests.is_complete_below(before);
  }
  return code;
}

int finish_one(Request& request, MPI_Request* handle, MPI_Status* status) {
  const int code = job().requests.finish(request, status);
  if (!request.is_persistent) {
    *handle = MPI_REQUEST_NULL;
  }
  return code;
}

}  // namespace

/// A request of the MPI below goes straight to it while no local message needs
/// this process.
HMPI_FUNCTION(Wait, (MPI_Request * request, MPI_Status* status)) {
  Call call;
  if (!call || *request == MPI_REQUEST_NULL) {
    if (call) {
      call.leave();
    }
    return below.Wait(request, status);
  }
  reap();
  Request* local = job().requests.find(*request);
  if (local == nullptr) {
    if (may_pass(call)) {
      call.leave();
      return below.Wait(request, status);
    }
    int code = MPI_SUCCESS;
    wait_until(job(), {.is_below = true}, [&] {
      int is_done = 0;
      code = test_below(request, &is_done, status);
      return is_done != 0 || code != MPI_SUCCESS;
    });
    return code;
  }
  if (!local->is_active) {
    set_empty(status);
    return MPI_SUCCESS;
  }
  wait_for(*local);
  return finish_one(*local, request, status);
}

/// Makes progress for all local messages, also for a request of the MPI below.
HMPI_FUNCTION(Test, (MPI_Request * request, int* flag, MPI_Status* status)) {
  const Call call;
  if (!call || *request == MPI_REQUEST_NULL) {
    return below.Test(request, flag, status);
  }
  reap();
  job().progress();
  Request* local = job().requests.find(*request);
  if (local == nullptr) {
    return test_below(request, flag, status);
  }
  *flag = 1;
  if (!local->is_active) {
    set_empty(status);
    return MPI_SUCCESS;
  }
  if (!local->is_over(job().engine)) {
    *flag = 0;
    return MPI_SUCCESS;
  }
  return finish_one(*local, request, status);
}

/// The request stays as it is, so a local status is described, not finished.
HMPI_FUNCTION(Request_get_status,
              (MPI_Request handle, int* flag, MPI_Status* status)) {
  const Call call;
  Request* local = call && handle != MPI_REQUEST_NULL
                       ? job().requests.find(handle)
                       : nullptr;
  if (call) {
    job().progress();
  }
  if (local == nullptr) {
    return below.Request_get_status(handle, flag, status);
  }
  *flag = 1;
  if (!local->is_active) {
    set_empty(status);
  } else if (!local->is_over(job().engine)) {
    *flag = 0;
  } else {
    job().requests.describe(*local, status);
  }
  return MPI_SUCCESS;
}

namespace {

/// Ends all local requests of an array. Whether one has failed.
bool finish_all(Apart& apart, MPI_Status* statuses) {
  bool has_failed = false;
  for (const Apart::Local& each : apart.local()) {
    const int code = apart.finish(each, status_at(statuses, each.place), true);
    has_failed |= code != MPI_SUCCESS;
  }
  return has_failed;
}

int end_all(Apart& apart, MPI_Status* statuses, int code_below) {
  if (statuses != MPI_STATUSES_IGNORE) {
    apart.set_empty_statuses(statuses);
    apart.copy_statuses_below(statuses);
  }
  const bool has_failed = finish_all(apart, statuses);
  return has_failed ? MPI_ERR_IN_STATUS : code_below;
}

}  // namespace

/// Local requests and requests of the MPI below are waited for side by side,
/// and finished together.
HMPI_FUNCTION(Waitall,
              (int count, MPI_Request* requests, MPI_Status* statuses)) {
  Call call;
  if (!call || (may_pass(call) && are_all_below(count, requests))) {
    if (call) {
      call.leave();
    }
    return below.Waitall(count, requests, statuses);
  }
  reap();
  Apart apart(count, requests);
  int code = MPI_SUCCESS;
  bool are_below_over = !apart.has_below();
  wait_until(job(), apart.awaited(), [&] {
    are_below_over = are_below_over || apart.are_below_over(code);
    return apart.are_local_over() && are_below_over;
  });
  return end_all(apart, statuses, code);
}

HMPI_FUNCTION(
    Testall,
    (int count, MPI_Request* requests, int* flag, MPI_Status* statuses)) {
  const Call call;
  if (!call) {
    return below.Testall(count, requests, flag, statuses);
  }
  reap();
  job().progress();
  Apart apart(count, requests);
  int code = MPI_SUCCESS;
  *flag = apart.are_local_over() &&
                  (!apart.has_below() || apart.are_below_over(code))
              ? 1
              : 0;
  return *flag != 0 ? end_all(apart, statuses, code) : code;
}

namespace {

/// Ends one request that is over. False: each still runs. Without an active
/// request the index is MPI_UNDEFINED.
bool end_one(Apart& apart, int* index, MPI_Status* status, int& code) {
  if (const Apart::Local* over = apart.find_over()) {
    *index = static_cast<int>(over->place);
    code = apart.finish(*over, status, false);
    return true;
  }
  const int place = apart.has_below() ? apart.one_below(status, code) : -2;
  if (place >= 0) {
    *index = place;
    return true;
  }
  if (place == -2 && apart.local().empty()) {
    *index = MPI_UNDEFINED;
    set_empty(status);
    return true;
  }
  return code != MPI_SUCCESS;
}

}  // namespace

/// A local request goes first if several are over.
HMPI_FUNCTION(
    Waitany,
    (int count, MPI_Request* requests, int* index, MPI_Status* status)) {
  Call call;
  if (!call || (may_pass(call) && are_all_below(count, requests))) {
    if (call) {
      call.leave();
    }
    return below.Waitany(count, requests, index, status);
  }
  reap();
  Apart apart(count, requests);
  int code = MPI_SUCCESS;
  wait_until(job(), apart.awaited(),
             [&] { return end_one(apart, index, status, code); });
  return code;
}

namespace {

/// The result of a look at an array, up to its first request of the MPI below.
enum class Found { kOver, kNoneActive, kNoneOver, kBelow };

/// Loops test for messages that come seldom, so this takes nothing apart.
Found find_local_over(int count, const MPI_Request* requests, int& place) {
  Found found = Found::kNoneActive;
  Engine& engine = job().engine;
  for (place = 0; place < count; ++place) {
    if (requests[place] == MPI_REQUEST_NULL) {
      continue;
    }
    Request* request = job().requests.find(requests[place]);
    if (request == nullptr) {
      return Found::kBelow;
    }
    if (!request->is_active) {
      continue;
    }
    if (request->is_over(engine)) {
      return Found::kOver;
    }
    found = Found::kNoneOver;
  }
  return found;
}

}  // namespace

/// Answers as MPI_Waitany does, without waiting.
HMPI_FUNCTION(Testany,
              (int count,
               MPI_Request* requests,
               int* index,
               int* flag,
               MPI_Status* status)) {
  const Call call;
  if (!call) {
    return below.Testany(count, requests, index, flag, status);
  }
  reap();
  job().progress();
  int place = 0;
  const Found found = find_local_over(count, requests, place);
  if (found == Found::kOver) {
    *index = place;
    *flag = 1;
    return finish_one(*job().requests.find(requests[place]), &requests[place],
                      status);
  }
  *index = MPI_UNDEFINED;
  *flag = found == Found::kNoneActive ? 1 : 0;
  if (found != Found::kBelow) {
    if (*flag != 0) {
      set_empty(status);
    }
    return MPI_SUCCESS;
  }
  Apart apart(count, requests);
  int code = MPI_SUCCESS;
  *flag = end_one(apart, index, status, code) ? 1 : 0;
  return code;
}

namespace {

/// All requests that are over. Whether the call may return.
bool end_some(
    Apart& apart, int* count, int* indices, MPI_Status* statuses, int& code) {
  *count = 0;
  std::size_t done = 0;
  bool has_failed = false;
  Engine& engine = job().engine;
  for (const Apart::Local& each : apart.local()) {
    if (each.request->is_over(engine)) {
      has_failed |=
          apart.finish(each, status_at(statuses, done), true) != MPI_SUCCESS;
      indices[done++] = static_cast<int>(each.place);
    }
  }
  int some = apart.has_below() ? apart.some_below(code) : MPI_UNDEFINED;
  if (some == MPI_UNDEFINED && apart.local().empty()) {
    *count = MPI_UNDEFINED;
    return true;
  }
  for (std::size_t i = 0;
       some != MPI_UNDEFINED && i < static_cast<std::size_t>(some); ++i) {
    if (statuses != MPI_STATUSES_IGNORE) {
      statuses[done] = apart.status_below(i);
    }
    indices[done++] = static_cast<int>(apart.place_of_some(i));
  }
  *count = static_cast<int>(done);
  if (has_failed) {
    code = MPI_ERR_IN_STATUS;
  }
  return done != 0 || code != MPI_SUCCESS;
}

}  // namespace

/// Returns local requests in front of requests of the MPI below.
HMPI_FUNCTION(Waitsome,
              (int count,
               MPI_Request* requests,
               int* done,
               int* indices,
               MPI_Status* statuses)) {
  Call call;
  if (!call || (may_pass(call) && are_all_below(count, requests))) {
    if (call) {
      call.leave();
    }
    return below.Waitsome(count, requests, done, indices, statuses);
  }
  reap();
  Apart apart(count, requests);
  int code = MPI_SUCCESS;
  wait_until(job(), apart.awaited(),
             [&] { return end_some(apart, done, indices, statuses, code); });
  return code;
}

HMPI_FUNCTION(Testsome,
              (int count,
               MPI_Request* requests,
               int* done,
               int* indices,
               MPI_Status* statuses)) {
  const Call call;
  if (!call) {
    return below.Testsome(count, requests, done, indices, statuses);
  }
  reap();
  job().progress();
  Apart apart(count, requests);
  int code = MPI_SUCCESS;
  end_some(apart, done, indices, statuses, code);
  return code;
}

HMPI_FUNCTION(Cancel, (MPI_Request * request)) {
  const Call call;
  Request* local = call && *request != MPI_REQUEST_NULL
                       ? job().requests.find(*request)
                       : nullptr;
  if (local == nullptr) {
    return below.Cancel(request);
  }
  job().requests.cancel(*local);
  return MPI_SUCCESS;
}

HMPI_FUNCTION(Request_free, (MPI_Request * request)) {
  const Call call;
  Request* local = call && *request != MPI_REQUEST_NULL
                       ? job().requests.find(*request)
                       : nullptr;
  if (local == nullptr) {
    return below.Request_free(request);
  }
  job().requests.free(*local);
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

HMPI_FUNCTION(Start, (MPI_Request * request)) {
  const Call call;
  Request* local = call && *request != MPI_REQUEST_NULL
                       ? job().requests.find(*request)
                       : nullptr;
  if (local == nullptr) {
    return below.Start(request);
  }
  return job().requests.start(*local);
}

HMPI_FUNCTION(Startall, (int count, MPI_Request* requests)) {
  const Call call;
  if (!call || are_all_below(count, requests)) {
    return below.Startall(count, requests);
  }
  for (int i = 0; i < count; ++i) {
    Request* local = job().requests.find(requests[i]);
    const int code = local != nullptr ? job().requests.start(*local)
                                      : below.Start(&requests[i]);
    if (code != MPI_SUCCESS) {
      return code;
    }
  }
  return MPI_SUCCESS;
}

}  // namespace hmpi
