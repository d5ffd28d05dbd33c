// The requests of local messages. The program has a handle of MPI for each: an
// inactive persistent request of the MPI below.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <unordered_map>
#include <vector>

#include "hmpi/comm.h"
#include "hmpi/operation.h"

namespace hmpi {

struct Job;

enum class Mode { kStandard, kSynchronous, kReady, kBuffered };

/// A send or a receive of the program. MPI_Sendrecv has two without a handle.
struct Request final : Receive {
  enum class Work { kNone, kSend, kReceive };

  Work work = Work::kNone;
  bool is_persistent = false;
  bool is_active = false;
  bool is_freed = false;      ///< By the program, while it was active.
  bool is_cancelled = false;  ///< The result of MPI_Cancel.
  bool is_below = false;      ///< The twin has filled it: `below_status`.
  bool owns_type = false;
  Mode mode = Mode::kStandard;

  Comm* comm = nullptr;
  /// The arguments of the call.
  void* data = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int rank = 0;  ///< The other end's, or MPI_ANY_SOURCE.
  int wanted_tag = 0;
  /// OPI_Give: the buffer of the sender that is free when the send is complete;
  /// not of a buffer that has gone to the receiver.
  Block* gives = nullptr;
  /// OPI_Take: where the address of the buffer goes. `data` is a buffer for
  /// data that come without one; null: one is made when they come.
  void** taken_into = nullptr;

  MPI_Request handle = MPI_REQUEST_NULL;
  /// This is the same receive, posted to the MPI below.
  MPI_Request twin = MPI_REQUEST_NULL;
  bool is_twin_asked = false;  ///< To be cancelled.
  /// MPI_Isendrecv: the send of a receive, here or below. OPI_Give to another
  /// host: all of it.
  Request* also = nullptr;
  MPI_Request also_below = MPI_REQUEST_NULL;
  Bytes replaced;  ///< MPI_Isendrecv_replace: what `also_below` sends.
  MPI_Status below_status{};
  int below_code = MPI_SUCCESS;  ///< The twin's error, which has been raised.

  Send send;  ///< Last: a receive does not touch it.

  Claim claim(bool is_library_thread) override;
  /// Posts a twin below if messages may come from other hosts.
  int post_twin();
  /// Whether it is complete. Asks the MPI below about a twin.
  bool is_over(Engine& engine);

  /// Whether it also waits for the MPI below.
  bool waits_below() const noexcept {
    return twin != MPI_REQUEST_NULL || also_below != MPI_REQUEST_NULL;
  }

 private:
  bool is_receive_over(Engine& engine);
};

/// Inside of the gate, all of these.
class Requests {
 public:
  explicit Requests(Job& job);
  ~Requests();
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  /// The request behind a handle; null: it belongs to the MPI below.
  Request* find(MPI_Request handle) const noexcept {
    for (std::size_t at = hash(handle) >> shift_;; ++at) {
      Request* entry = table_[at & (table_.size() - 1)];
      if (entry == nullptr || entry->handle == handle) {
        return entry;
      }
    }
  }

  /// A free request with a handle.
  Request& take();

  /// The handle of all sends that were complete at once.
  MPI_Request complete_send() const noexcept { return complete_send_->handle; }

  /// Sends a short message of a plain type, which is complete then. False, and
  /// nothing has changed: it needs a request.
  bool send_short(const Comm& comm,
                  const void* data,
                  MPI_Count count,
                  MPI_Datatype type,
                  int rank,
                  int tag);
  /// Begins the send or receive. An error code of MPI: a send has not begun
  /// then.
  int start(Request& request);
  /// A receive whose twin is all of it: its message comes from another host.
  void start_below(Request& request);
  /// A send that the MPI below has begun as `also_below`.
  static void start_send_below(Request& request);
  /// A receive of a message that was taken by MPI_Mprobe.
  void start_with(Request& request, Arrived& message);

  /// Writes the results of a request that is over, and ends it. Sets `handle`
  /// to MPI_REQUEST_NULL unless the request is persistent. The code of its
  /// error.
  int finish(Request& request, MPI_Status* status);
  /// Ends a request without a handle.
  int finish_blocking(Request& request, MPI_Status* status);

  /// The status of a request that is over, which stays as it is.
  void describe(Request& request, MPI_Status* status);

  /// MPI_Cancel. A local send goes on.
  void cancel(Request& request);

  /// MPI_Request_free.
  void free(Request& request);

  /// Ends the freed requests that are over, of this many.
  void reap(std::size_t looks = SIZE_MAX);

  bool has_freed() const noexcept { return !freed_.empty(); }

  /// Remembers a duplicate that is known when its request is complete.
  void expect_duplicate(MPI_Request handle, MPI_Comm* made, std::uint64_t id);

  bool has_duplicates() const noexcept { return !duplicates_.empty(); }

  /// Has the MPI below go on with what it has begun.
  void progress_below();

  /// A request of the MPI below is complete, which had this handle.
  void is_complete_below(MPI_Request handle);

  /// Handles of matched messages.
  MPI_Message hold(Arrived& message, Comm& comm);

  /// The message behind a handle, which is free then; null: of the MPI below.
  struct Held {
    Arrived* message = nullptr;
    Comm* comm = nullptr;
  };

  Held release(MPI_Message handle);

 private:
  struct Duplicate {
    MPI_Request handle;
    MPI_Comm* made;
    std::uint64_t id;
  };

  static std::uint64_t hash(MPI_Request handle) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &handle, sizeof handle);
    return bits * 0x9E37'79B9'7F4A'7C15;
  }

  static std::uint64_t key_of(MPI_Message handle) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &handle, sizeof handle);
    return bits;
  }

  Request& make();
  void insert(Request& request);
  void release(Request& request);
  bool has_buffer(const Request& request);
  bool start_send(Request& request);
  void prepare_receive(Request& request);
  int start_receive(Request& request);
  int collect(Request& request, MPI_Status* status);
  static void deliver_buffer(Request& request);

  Job& job_;
  std::deque<Request> all_;
  std::vector<Request*> free_;
  std::vector<Request*> table_;
  unsigned shift_ = 0;
  Request* complete_send_ = nullptr;
  std::deque<Request*> freed_;
  std::vector<Duplicate> duplicates_;

  MPI_Comm own_ = MPI_COMM_NULL;  ///< Carries the empty messages below.
  /// A receive without a sender. The test of a request that is not complete has
  /// the MPI below make progress of all kinds; in MPICH a probe does not.
  MPI_Request never_ = MPI_REQUEST_NULL;
  std::vector<MPI_Request> empty_sends_;
  std::vector<MPI_Message> free_messages_;
  std::unordered_map<std::uint64_t, Held> held_;
};

/// The status of a null or inactive request, or of a send.
void set_empty(MPI_Status* status);
/// The status of a receive from MPI_PROC_NULL.
void set_from_null(MPI_Status* status);

}  // namespace hmpi
