// random_matcher: random messages between 2 to 8 ranks (1 to 16 work), checked
// against MPI's rules of matching.
//
//   random_matcher [--seed S] [--operations N] [--trace FILE]
//
// All ranks make the same schedule from the seed (random_schedule.h). A receive
// that names its source must get the message that the schedule says. One with
// MPI_ANY_SOURCE must get the next message of the source that it got. At the
// end of each round all messages are received. Over HMPI some sends are gives
// and some receives are takes, each meets its like or not.
//
// --trace writes FILE.RANK: one line for each message that the rank received,
// in an order that does not depend on time. So files of runs over two MPI
// libraries are equal. On failure the program names seed and operation.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

#include "check.h"
#include "layout.h"
#include "payload.h"
#include "random_schedule.h"

namespace random_matcher {

namespace {

using mpi_check::contents_of;
using mpi_check::Deadline;
using mpi_check::GuardedBuffer;
using mpi_check::Layout;
using mpi_check::seed_of;
using mpi_check::world_rank;
using mpi_check::world_size;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

std::uint64_t seed_of_message(const Message& message) {
  return seed_of({message.comm, message.source, message.dest, message.tag,
                  message.number, message.size});
}

/// Communicators, all made out of the world, and this rank's handles.
class Comms {
 public:
  Comms() {
    Members world(at(world_size));
    std::iota(world.begin(), world.end(), 0);
    Members reversed(world.rbegin(), world.rend());
    Members halves[2];
    for (const int rank : world)
      halves[rank % 2].push_back(rank);
    members = {world, world, reversed, halves[0]};
    if (world_size > 1) members.push_back(halves[1]);
    handles_.assign(members.size(), MPI_COMM_NULL);
    handles_[0] = MPI_COMM_WORLD;
    make();
    MPI_Comm_dup(MPI_COMM_WORLD, &control);
  }

  ~Comms() {
    free();
    MPI_Comm_free(&control);
  }

  Comms(const Comms&) = delete;
  Comms& operator=(const Comms&) = delete;

  /// MPI_COMM_NULL if this rank is no member.
  MPI_Comm handle(int comm) const { return handles_[at(comm)]; }

  /// This rank's rank in the communicator, or kNone.
  int rank_in(int comm) const {
    const Members& all = members[at(comm)];
    const auto found = std::find(all.begin(), all.end(), world_rank);
    return found == all.end() ? kNone : static_cast<int>(found - all.begin());
  }

  /// New communicators in place of the old ones. Collective.
  void renew() {
    free();
    make();
  }

  std::vector<Members> members;
  MPI_Comm control = MPI_COMM_NULL;  ///< Tells that a receive is posted.

 private:
  void make() {
    MPI_Comm_dup(MPI_COMM_WORLD, &handles_[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &handles_[2]);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank,
                   &handles_[at(3 + world_rank % 2)]);
  }

  void free() {
    for (std::size_t i = 1; i < handles_.size(); ++i) {
      if (handles_[i] != MPI_COMM_NULL) MPI_Comm_free(&handles_[i]);
    }
  }

  std::vector<MPI_Comm> handles_;
};

/// The functions of ownership passing; null over an MPI library alone.
struct Passing {
  int (*allocate)(void**, std::size_t) = nullptr;
  int (*release)(void**) = nullptr;
  int (*give)(void**, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) =
      nullptr;
  int (*give_blocking)(void**, int, MPI_Datatype, int, int, MPI_Comm) = nullptr;
  int (*take)(void**, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) =
      nullptr;
  int (*take_blocking)(
      void**, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*) = nullptr;

  Passing() {
    find("OPI_Alloc", allocate);
    find("OPI_Free", release);
    find("OPI_Give", give);
    find("OPI_Give_blocking", give_blocking);
    find("OPI_Take", take);
    find("OPI_Take_blocking", take_blocking);
  }

  /// Whether an operation at this place of a round passes its buffer.
  bool is_used_at(int place, const Operation& operation) const {
    const bool has_style = operation.style == Style::kBlocking ||
                           operation.style == Style::kNonblocking;
    return give != nullptr && has_style && operation.layout == kNone &&
           operation.mode == Mode::kStandard && place % 3 == 0;
  }

 private:
  template <typename Function>
  static void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  }
};

/// A buffer and, for a persistent request, the request that is bound to it.
struct Slot {
  explicit Slot(std::size_t bytes) : buffer(bytes) {}

  ~Slot() {
    if (is_persistent && request != MPI_REQUEST_NULL) {
      MPI_Request_free(&request);
    }
  }

  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  GuardedBuffer buffer;
  MPI_Request request = MPI_REQUEST_NULL;
  bool is_persistent = false;
  void* taken = nullptr;  ///< By a take, which needs no buffer.
  bool is_take = false;
};

/// Persistent requests that are kept for later operations with the same
/// arguments. A request in use is held by its operation, too.
class PersistentRequests {
 public:
  using Key = std::tuple<Kind, Mode, int, int, int, int>;

  /// An inactive request, new (`is_new`) or used before.
  std::shared_ptr<Slot> find(const Key& key, int bytes, bool& is_new) {
    std::shared_ptr<Slot>& kept = slots_[key];
    is_new = kept == nullptr || kept.use_count() > 1;
    if (!is_new) return kept;
    auto fresh = std::make_shared<Slot>(at(bytes));
    fresh->is_persistent = true;
    if (kept == nullptr) kept = fresh;
    return fresh;
  }

  /// Frees all. None is active.
  void clear() { slots_.clear(); }

 private:
  std::map<Key, std::shared_ptr<Slot>> slots_;
};

/// An operation of this rank that has been posted in this round.
struct Posted {
  int place = kNone;
  std::shared_ptr<Slot> slot;
  MPI_Request request = MPI_REQUEST_NULL;  ///< Unless persistent.
  MPI_Status status{};
  bool is_done = false;

  MPI_Request& handle() {
    return slot->is_persistent ? slot->request : request;
  }
};

/// Executes this rank's operations of one round after the other.
class Runner {
 public:
  Runner(std::uint64_t seed, std::FILE* trace)
      : seed_(seed), trace_(trace), layouts_(mpi_check::all_layouts()) {
    attach();
    mpi_check::running_case = where_;
  }

  ~Runner() {
    detach();
    persistent_.clear();
  }

  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  Comms& comms() { return comms_; }

  int layouts() const { return static_cast<int>(layouts_.size()); }

  void run(const Round& round, int number) {
    round_ = &round;
    round_number_ = number;
    posted_.clear();
    posted_at_.assign(round.operations.size(), kNone);
    taken_.assign(round.messages.size(), false);
    lines_.clear();
    for (int i = 0; i < static_cast<int>(round.operations.size()); ++i) {
      name_place(i);
      execute(i, round.operations[at(i)]);
    }
    name_place(static_cast<int>(round.operations.size()));
    complete_rest();
    check_undetermined();
    check_all_taken();
    write_trace();
    detach();
    attach();
    MPI_Barrier(comms_.control);
    if (number % 20 == 19) {
      persistent_.clear();
      comms_.renew();
    }
  }

 private:
  void name_place(int place) {
    std::snprintf(where_, sizeof where_, "--seed %llu, operation %d",
                  static_cast<unsigned long long>(seed_),
                  round_->first_operation + place);
  }

  void attach() {
    attached_.resize(at(kMostBufferedBytes) * 2);
    MPI_Buffer_attach(attached_.data(), static_cast<int>(attached_.size()));
  }

  void detach() {
    void* memory = nullptr;
    int bytes = 0;
    MPI_Buffer_detach(static_cast<void*>(&memory), &bytes);
    CHECK_EQUAL(bytes, static_cast<int>(attached_.size()));
  }

  const Message& message(int index) const {
    return round_->messages[at(index)];
  }

  void execute(int place, const Operation& operation) {
    if (operation.kind == Kind::kWait) {
      if (operation.source == world_rank) wait(operation);
      return;
    }
    const int me = comms_.rank_in(operation.comm);
    if (me == kNone) return;
    switch (operation.kind) {
      case Kind::kSend:
        if (operation.mode == Mode::kReady) tell_ready(operation, me);
        if (operation.source == me) send(place, operation);
        break;
      case Kind::kReceive:
        if (operation.dest == me) receive(place, operation);
        break;
      case Kind::kSendrecv:
        if (operation.source == me || operation.dest == me) {
          sendrecv(operation, me);
        }
        break;
      case Kind::kTest:
        if (operation.source == me) test(operation);
        break;
      case Kind::kCancel:
        if (operation.source == me) cancel(operation);
        break;
      case Kind::kCollective: collective(operation); break;
      case Kind::kWait: break;
    }
  }

  /// The receiver of a message in ready mode says that its receive is posted.
  void tell_ready(const Operation& operation, int me) {
    const Members& members = comms_.members[at(operation.comm)];
    if (operation.source == operation.dest) return;
    if (operation.dest == me) {
      MPI_Send(nullptr, 0, MPI_BYTE, members[at(operation.source)], 0,
               comms_.control);
    }
    if (operation.source == me) {
      MPI_Recv(nullptr, 0, MPI_BYTE, members[at(operation.dest)], 0,
               comms_.control, MPI_STATUS_IGNORE);
    }
  }

  Posted& post(int place, std::shared_ptr<Slot> slot) {
    posted_at_[at(place)] = static_cast<int>(posted_.size());
    posted_.push_back({});
    posted_.back().place = place;
    posted_.back().slot = std::move(slot);
    return posted_.back();
  }

  void send(int place, const Operation& operation) {
    const Message& sent = message(operation.message);
    const auto contents = contents_of(at(sent.size), seed_of_message(sent));
    if (operation.style == Style::kPersistent) {
      send_persistent(place, operation, contents);
      return;
    }
    if (passing_.is_used_at(place, operation)) {
      give(place, operation, contents);
      return;
    }
    MPI_Datatype type = MPI_BYTE;
    int count = sent.size;
    std::size_t bytes = contents.size();
    if (operation.layout != kNone) {
      const Layout& layout = layouts_[at(operation.layout)];
      type = layout.type();
      count = sent.size / Layout::kElementBytes;
      bytes = layout.span(count);
    }
    Posted& posted = post(place, std::make_shared<Slot>(bytes));
    std::byte* const data = posted.slot->buffer.data();
    if (operation.layout != kNone) {
      layouts_[at(operation.layout)].scatter(data, contents);
    } else {
      std::copy(contents.begin(), contents.end(), data);
    }
    const MPI_Comm comm = comms_.handle(operation.comm);
    if (operation.style == Style::kNonblocking) {
      constexpr decltype(&PMPI_Isend) calls[] = {MPI_Isend, MPI_Issend,
                                                 MPI_Ibsend, MPI_Irsend};
      calls[static_cast<int>(operation.mode)](data, count, type, operation.dest,
                                              operation.tag, comm,
                                              &posted.request);
      return;
    }
    constexpr decltype(&PMPI_Send) calls[] = {MPI_Send, MPI_Ssend, MPI_Bsend,
                                              MPI_Rsend};
    calls[static_cast<int>(operation.mode)](data, count, type, operation.dest,
                                            operation.tag, comm);
    posted.is_done = true;
    posted.slot.reset();
  }

  void give(int place,
            const Operation& operation,
            const std::vector<std::byte>& contents) {
    const int size = static_cast<int>(contents.size());
    const MPI_Comm comm = comms_.handle(operation.comm);
    void* buffer = nullptr;
    passing_.allocate(&buffer, contents.size());
    std::copy(contents.begin(), contents.end(),
              static_cast<std::byte*>(buffer));
    Posted& posted = post(place, std::make_shared<Slot>(0));
    if (operation.style == Style::kNonblocking) {
      passing_.give(&buffer, size, MPI_BYTE, operation.dest, operation.tag,
                    comm, &posted.request);
    } else {
      passing_.give_blocking(&buffer, size, MPI_BYTE, operation.dest,
                             operation.tag, comm);
      posted.is_done = true;
      posted.slot.reset();
    }
    CHECK(buffer == nullptr);
  }

  void take_buffer(int place, const Operation& operation) {
    const MPI_Comm comm = comms_.handle(operation.comm);
    Posted& posted = post(place, std::make_shared<Slot>(0));
    Slot& slot = *posted.slot;
    slot.is_take = true;
    if (operation.style == Style::kNonblocking) {
      passing_.take(&slot.taken, operation.capacity, MPI_BYTE,
                    source_of(operation), tag_of(operation), comm,
                    &posted.request);
    } else {
      passing_.take_blocking(&slot.taken, operation.capacity, MPI_BYTE,
                             source_of(operation), tag_of(operation), comm,
                             &posted.status);
      done(posted);
    }
  }

  void send_persistent(int place,
                       const Operation& operation,
                       const std::vector<std::byte>& contents) {
    const int size = static_cast<int>(contents.size());
    bool is_new = false;
    auto slot = persistent_.find({Kind::kSend, operation.mode, operation.comm,
                                  operation.dest, operation.tag, size},
                                 size, is_new);
    Posted& posted = post(place, std::move(slot));
    std::byte* const data = posted.slot->buffer.data();
    std::copy(contents.begin(), contents.end(), data);
    if (is_new) {
      const auto init =
          operation.mode == Mode::kSynchronous ? MPI_Ssend_init : MPI_Send_init;
      init(data, size, MPI_BYTE, operation.dest, operation.tag,
           comms_.handle(operation.comm), &posted.slot->request);
    }
    MPI_Start(&posted.slot->request);
  }

  static int source_of(const Operation& operation) {
    return is_determined(operation.wildcards) ? operation.source
                                              : MPI_ANY_SOURCE;
  }

  static int tag_of(const Operation& operation) {
    return operation.wildcards == Wildcards::kTag ||
                   operation.wildcards == Wildcards::kBoth
               ? MPI_ANY_TAG
               : operation.tag;
  }

  void receive(int place, const Operation& operation) {
    const int source = source_of(operation);
    const int tag = tag_of(operation);
    const MPI_Comm comm = comms_.handle(operation.comm);
    if (operation.style == Style::kPersistent) {
      receive_persistent(place, operation);
      return;
    }
    if (passing_.is_used_at(place, operation)) {
      take_buffer(place, operation);
      return;
    }
    MPI_Datatype type = MPI_BYTE;
    int count = operation.capacity;
    std::size_t bytes = at(count);
    if (operation.layout != kNone) {
      const Layout& layout = layouts_[at(operation.layout)];
      type = layout.type();
      count = (operation.capacity + Layout::kElementBytes - 1) /
              Layout::kElementBytes;
      bytes = layout.span(count);
    }
    Posted& posted = post(place, std::make_shared<Slot>(bytes));
    std::byte* const data = posted.slot->buffer.data();
    switch (operation.style) {
      case Style::kNonblocking:
        MPI_Irecv(data, count, type, source, tag, comm, &posted.request);
        return;
      case Style::kCancelRace:
        receive_with_cancel(posted, data, count, type, source, tag, comm);
        return;
      case Style::kBlocking:
        MPI_Recv(data, count, type, source, tag, comm, &posted.status);
        break;
      default: receive_probed(posted, operation, data, count, type); break;
    }
    done(posted);
  }

  /// Cancels the receive at once. If the message was there first it has been
  /// received, else the receive is posted again.
  void receive_with_cancel(Posted& posted,
                           std::byte* data,
                           int count,
                           MPI_Datatype type,
                           int source,
                           int tag,
                           MPI_Comm comm) {
    MPI_Irecv(data, count, type, source, tag, comm, &posted.request);
    MPI_Cancel(&posted.request);
    MPI_Wait(&posted.request, &posted.status);
    int is_cancelled = 0;
    MPI_Test_cancelled(&posted.status, &is_cancelled);
    if (is_cancelled != 0) {
      MPI_Irecv(data, count, type, source, tag, comm, &posted.request);
    } else {
      done(posted);
    }
  }

  void receive_probed(Posted& posted,
                      const Operation& operation,
                      std::byte* data,
                      int count,
                      MPI_Datatype type) {
    const int source = source_of(operation);
    const int tag = tag_of(operation);
    const MPI_Comm comm = comms_.handle(operation.comm);
    const Deadline deadline;
    MPI_Message found = MPI_MESSAGE_NULL;
    MPI_Status probed;
    int is_there = 0;
    switch (operation.style) {
      case Style::kProbe: MPI_Probe(source, tag, comm, &probed); break;
      case Style::kMprobe:
        MPI_Mprobe(source, tag, comm, &found, &probed);
        break;
      case Style::kIprobe:
        while (is_there == 0 && deadline.waits("a message")) {
          MPI_Iprobe(source, tag, comm, &is_there, &probed);
        }
        break;
      default:
        while (is_there == 0 && deadline.waits("a message")) {
          MPI_Improbe(source, tag, comm, &is_there, &found, &probed);
        }
        break;
    }
    if (found == MPI_MESSAGE_NULL) {
      MPI_Recv(data, count, type, probed.MPI_SOURCE, probed.MPI_TAG, comm,
               &posted.status);
    } else if (operation.choice % 2 == 0) {
      MPI_Mrecv(data, count, type, &found, &posted.status);
    } else {
      MPI_Request request;
      MPI_Imrecv(data, count, type, &found, &request);
      MPI_Wait(&request, &posted.status);
    }
    CHECK_STATUS(posted.status, probed.MPI_SOURCE, probed.MPI_TAG,
                 mpi_check::bytes_of(probed));
  }

  void receive_persistent(int place, const Operation& operation) {
    const int source = source_of(operation);
    const int tag = tag_of(operation);
    bool is_new = false;
    auto slot =
        persistent_.find({Kind::kReceive, Mode::kStandard, operation.comm,
                          source, tag, operation.capacity},
                         operation.capacity, is_new);
    Posted& posted = post(place, std::move(slot));
    posted.slot->buffer.clear();
    if (is_new) {
      MPI_Recv_init(posted.slot->buffer.data(), operation.capacity, MPI_BYTE,
                    source, tag, comms_.handle(operation.comm),
                    &posted.slot->request);
    }
    MPI_Start(&posted.slot->request);
  }

  void sendrecv(const Operation& operation, int me) {
    const bool is_source = operation.source == me;
    const int mine = is_source ? operation.message : operation.other_message;
    const int theirs = is_source ? operation.other_message : operation.message;
    const int partner = is_source ? operation.dest : operation.source;
    const Message& sent = message(mine);
    const Message& expected = message(theirs);
    auto contents = contents_of(at(sent.size), seed_of_message(sent));
    GuardedBuffer in(at(expected.size));
    MPI_Status status;
    MPI_Sendrecv(contents.data(), sent.size, MPI_BYTE, partner, operation.tag,
                 in.data(), expected.size, MPI_BYTE, partner, operation.tag,
                 comms_.handle(operation.comm), &status);
    CHECK_STATUS(status, partner, operation.tag, expected.size);
    CHECK_CONTENTS(in, expected.size, seed_of_message(expected));
    take(theirs);
  }

  /// Completes the requests of some operations, in one of many ways.
  void wait(const Operation& operation) {
    std::vector<int> open;
    for (const int place : operation.waits) {
      const int index = posted_at_[at(place)];
      if (!posted_[at(index)].is_done) open.push_back(index);
    }
    complete(open, operation.choice);
  }

  void complete_rest() {
    std::vector<int> open;
    for (int i = 0; i < static_cast<int>(posted_.size()); ++i) {
      if (!posted_[at(i)].is_done) open.push_back(i);
    }
    complete(open, round_number_ + world_rank);
  }

  void complete(const std::vector<int>& open, int way) {
    std::vector<MPI_Request> requests = {MPI_REQUEST_NULL};
    // A persistent request stays in the array after its end, so its slot must
    // live on.
    std::vector<std::shared_ptr<Slot>> slots;
    for (const int index : open) {
      slots.push_back(posted_[at(index)].slot);
      requests.push_back(posted_[at(index)].handle());
    }
    const auto finish = [&](int i, const MPI_Status& status) {
      if (i == 0) return;
      Posted& posted = posted_[at(open[at(i - 1)])];
      posted.handle() = requests[at(i)];
      posted.status = status;
      done(posted);
    };
    switch (way % 8) {
      case 0:
      case 1: complete_all(requests, way % 2 == 0, finish); break;
      case 2:
      case 3: complete_any(requests, way % 2 == 0, finish); break;
      case 4:
      case 5: complete_some(requests, way % 2 == 0, finish); break;
      default: complete_each(requests, way % 2 == 0, finish); break;
    }
    for (const int index : open)
      CHECK(posted_[at(index)].is_done);
  }

  template <class Finish>
  void complete_all(std::vector<MPI_Request>& requests,
                    bool is_waiting,
                    Finish finish) {
    const int count = static_cast<int>(requests.size());
    std::vector<MPI_Status> statuses(requests.size());
    const Deadline deadline;
    int are_done = 0;
    if (is_waiting) MPI_Waitall(count, requests.data(), statuses.data());
    while (!is_waiting && are_done == 0 && deadline.waits("requests")) {
      MPI_Testall(count, requests.data(), &are_done, statuses.data());
    }
    for (int i = 0; i < count; ++i)
      finish(i, statuses[at(i)]);
  }

  template <class Finish>
  void complete_any(std::vector<MPI_Request>& requests,
                    bool is_waiting,
                    Finish finish) {
    const int count = static_cast<int>(requests.size());
    const Deadline deadline;
    for (;;) {
      int index = MPI_UNDEFINED;
      int is_done = 0;
      MPI_Status status;
      if (is_waiting) MPI_Waitany(count, requests.data(), &index, &status);
      while (!is_waiting && is_done == 0 && deadline.waits("a request")) {
        MPI_Testany(count, requests.data(), &index, &is_done, &status);
      }
      if (index == MPI_UNDEFINED) return;
      finish(index, status);
    }
  }

  template <class Finish>
  void complete_some(std::vector<MPI_Request>& requests,
                     bool is_waiting,
                     Finish finish) {
    const int count = static_cast<int>(requests.size());
    std::vector<int> indices(requests.size());
    std::vector<MPI_Status> statuses(requests.size());
    const Deadline deadline;
    int ended = 0;
    while (ended != MPI_UNDEFINED && deadline.waits("some requests")) {
      const auto call = is_waiting ? MPI_Waitsome : MPI_Testsome;
      call(count, requests.data(), &ended, indices.data(), statuses.data());
      for (int i = 0; i < ended; ++i) {
        finish(indices[at(i)], statuses[at(i)]);
      }
    }
  }

  template <class Finish>
  void complete_each(std::vector<MPI_Request>& requests,
                     bool is_waiting,
                     Finish finish) {
    const Deadline deadline;
    for (int i = 0; i < static_cast<int>(requests.size()); ++i) {
      MPI_Status status;
      int is_done = 0;
      if (is_waiting) MPI_Wait(&requests[at(i)], &status);
      while (!is_waiting && is_done == 0 && deadline.waits("a request")) {
        MPI_Test(&requests[at(i)], &is_done, &status);
      }
      finish(i, status);
    }
  }

  /// Tests the oldest open request, and probes. Any outcome is allowed.
  void test(const Operation& operation) {
    int flag = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comms_.handle(operation.comm),
               &flag, MPI_STATUS_IGNORE);
    for (Posted& posted : posted_) {
      if (posted.is_done) continue;
      flag = 0;
      if (operation.choice % 3 == 0) {
        MPI_Request_get_status(posted.handle(), &flag, MPI_STATUS_IGNORE);
        return;
      }
      MPI_Test(&posted.handle(), &flag, &posted.status);
      if (flag != 0) done(posted);
      return;
    }
  }

  /// No message has this tag, so the cancel must succeed.
  void cancel(const Operation& operation) {
    GuardedBuffer buffer(64);
    MPI_Request request;
    MPI_Irecv(buffer.data(), 64, MPI_BYTE,
              operation.choice % 2 == 0 ? MPI_ANY_SOURCE : operation.source,
              kCancelTag, comms_.handle(operation.comm), &request);
    MPI_Cancel(&request);
    MPI_Status status;
    MPI_Wait(&request, &status);
    int is_cancelled = 0;
    MPI_Test_cancelled(&status, &is_cancelled);
    CHECK_EQUAL(is_cancelled, 1);
    CHECK_CONTENTS(buffer, 0, 0);
  }

  void collective(const Operation& operation) {
    const MPI_Comm comm = comms_.handle(operation.comm);
    const int members =
        static_cast<int>(comms_.members[at(operation.comm)].size());
    const int me = comms_.rank_in(operation.comm);
    int value = operation.choice;
    int sum = 0;
    switch (operation.choice % 3) {
      case 0: MPI_Barrier(comm); break;
      case 1:
        if (me != operation.source) value = 0;
        MPI_Bcast(&value, 1, MPI_INT, operation.source, comm);
        CHECK_EQUAL(value, operation.choice);
        break;
      default:
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK_EQUAL(sum, members * (members - 1) / 2);
        break;
    }
  }

  /// The request has completed. The data of a receive are checked at once if it
  /// is known, else at the end of the round.
  void done(Posted& posted) {
    CHECK_EQUAL(posted.is_done, false);
    posted.is_done = true;
    const Operation& operation = round_->operations[at(posted.place)];
    if (operation.kind == Kind::kSend) {
      posted.slot.reset();
      return;
    }
    if (is_determined(operation.wildcards)) {
      check_received(posted, operation.message);
    }
  }

  void check_received(Posted& posted, int index) {
    const Operation& operation = round_->operations[at(posted.place)];
    const Message& expected = message(index);
    CHECK_STATUS(posted.status, expected.source, expected.tag, expected.size);
    GuardedBuffer& buffer = posted.slot->buffer;
    if (posted.slot->is_take) {
      CHECK_EQUAL(mpi_check::first_difference(
                      static_cast<std::byte*>(posted.slot->taken),
                      at(expected.size), seed_of_message(expected)),
                  at(expected.size));
      passing_.release(&posted.slot->taken);
    } else if (operation.layout == kNone) {
      CHECK_CONTENTS(buffer, expected.size, seed_of_message(expected));
    } else {
      const auto stream = layouts_[at(operation.layout)].gather(
          buffer.data(), at(expected.size));
      CHECK_EQUAL(mpi_check::first_difference(stream.data(), stream.size(),
                                              seed_of_message(expected)),
                  stream.size());
      CHECK(buffer.is_untouched_from(0));
    }
    posted.slot.reset();
    take(index);
  }

  /// Receives by MPI_ANY_SOURCE, in the order in which they were posted: each
  /// has the first message of its source that is left.
  void check_undetermined() {
    for (Posted& posted : posted_) {
      const Operation& operation = round_->operations[at(posted.place)];
      if (operation.kind != Kind::kReceive ||
          is_determined(operation.wildcards)) {
        continue;
      }
      name_place(posted.place);
      const auto next = first_left(operation, posted.status.MPI_SOURCE);
      CHECK(next.has_value());
      check_received(posted, *next);
    }
  }

  std::optional<int> first_left(const Operation& operation, int source) const {
    for (int i = 0; i < static_cast<int>(round_->messages.size()); ++i) {
      const Message& one = message(i);
      if (taken_[at(i)] || one.comm != operation.comm ||
          one.dest != operation.dest || one.source != source) {
        continue;
      }
      if (operation.wildcards == Wildcards::kBoth || one.tag == operation.tag) {
        return i;
      }
    }
    return std::nullopt;
  }

  void take(int index) {
    CHECK_EQUAL(taken_[at(index)], false);
    taken_[at(index)] = true;
    if (trace_ != nullptr) lines_.push_back(index);
  }

  void check_all_taken() {
    for (int i = 0; i < static_cast<int>(round_->messages.size()); ++i) {
      const Message& one = message(i);
      if (comms_.rank_in(one.comm) == one.dest) CHECK(taken_[at(i)]);
    }
  }

  /// In the order of the sends, which is the same in all runs.
  void write_trace() {
    if (trace_ == nullptr) return;
    std::sort(lines_.begin(), lines_.end());
    for (const int index : lines_) {
      const Message& one = message(index);
      std::fprintf(trace_,
                   "round %d communicator %d from %d to %d tag %d number %d: "
                   "%d bytes %016llx\n",
                   round_number_, one.comm, one.source, one.dest, one.tag,
                   one.number, one.size,
                   static_cast<unsigned long long>(seed_of_message(one)));
    }
  }

  std::uint64_t seed_;
  std::FILE* trace_;
  std::vector<Layout> layouts_;
  Comms comms_;
  PersistentRequests persistent_;
  Passing passing_;
  std::vector<std::byte> attached_;
  const Round* round_ = nullptr;
  int round_number_ = 0;
  std::vector<Posted> posted_;
  std::vector<int> posted_at_;  ///< By place in the round; kNone for others'.
  std::vector<bool> taken_;     ///< Messages of the round that arrived here.
  std::vector<int> lines_;
  char where_[64] = "";
};

struct Arguments {
  std::uint64_t seed = 1;
  int operations = 10000;
  std::string trace;
};

std::optional<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (i + 1 == argc) return std::nullopt;
    if (name == "--seed") {
      arguments.seed = std::strtoull(argv[i + 1], nullptr, 0);
    } else if (name == "--operations") {
      arguments.operations = std::atoi(argv[i + 1]);
    } else if (name == "--trace") {
      arguments.trace = argv[i + 1];
    } else {
      return std::nullopt;
    }
  }
  return arguments;
}

/// Seconds for one round. A round that hangs ends the job and is named.
constexpr unsigned kRoundSeconds = 120;

void on_alarm(int) {
  static const char text[] = ": this operation hangs\n";
  const char* name = mpi_check::running_case;
  (void)!write(STDERR_FILENO, name, std::strlen(name));
  (void)!write(STDERR_FILENO, text, sizeof text - 1);
  _exit(1);
}

void run_all(const Arguments& arguments, std::FILE* trace) {
  constexpr int kOperationsOfRound = 300;
  Runner runner(arguments.seed, trace);
  Schedule schedule(arguments.seed, runner.comms().members, runner.layouts());
  int executed = 0;
  for (int number = 0; executed < arguments.operations; ++number) {
    const Round round = schedule.next(
        std::min(kOperationsOfRound, arguments.operations - executed + 1));
    executed += static_cast<int>(round.operations.size());
    alarm(kRoundSeconds);
    runner.run(round, number);
  }
}

}  // namespace

int run_program(int argc, char** argv) {
  const auto arguments = parse(argc, argv);
  if (!arguments) {
    std::fputs(
        "usage: random_matcher [--seed S] [--operations N] "
        "[--trace FILE]\n",
        stderr);
    return 2;
  }
  std::signal(SIGALRM, on_alarm);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  std::FILE* trace = nullptr;
  if (!arguments->trace.empty()) {
    const std::string name =
        arguments->trace + "." + std::to_string(world_rank);
    trace = std::fopen(name.c_str(), "w");
    if (trace == nullptr) mpi_check::fail(__FILE__, __LINE__, "open " + name);
  }
  run_all(*arguments, trace);
  alarm(0);
  mpi_check::running_case = "";
  if (trace != nullptr) std::fclose(trace);
  long all = 0;
  const long mine = mpi_check::checks_passed.load(std::memory_order_relaxed);
  MPI_Reduce(&mine, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (world_rank == 0) std::printf("passed: %ld checks\n", all);
  MPI_Finalize();
  return 0;
}

}  // namespace random_matcher

int main(int argc, char** argv) {
  return random_matcher::run_program(argc, argv);
}
