// Random rounds of messages for random_matcher. All ranks build the same rounds
// from one seed, so no rank needs to ask another what comes.
//
// A round is a list of operations. Each rank executes its own ones in the order
// of the list. A round never hangs, because of these rules:
//   1. An operation that waits for a message stands behind its send, or it is
//      the only open one of its channel and both ranks execute it together.
//   2. A send that may wait for its receive stands behind it.
//   3. Every wait stands behind the send and the receive that it waits for.
// So the first operation of the list that has not ended can always end.
//
// A channel holds the messages that a kind of receives matches: communicator
// and receiver, and the source and the tag unless they are wildcards. All
// receives that one rank posts on one communicator in one round have the same
// wildcards. The n-th receive of a channel gets its n-th message. With
// MPI_ANY_SOURCE the order of messages is open, and so rules 1 and 2 count:
// messages sent before, and none but buffered sends wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <tuple>
#include <vector>

namespace random_matcher {

/// Members of a communicator as ranks of the world, in the order of the
/// communicator.
using Members = std::vector<int>;

enum class Wildcards { kNone, kTag, kSource, kBoth };

/// Is it known which message a receive gets?
inline bool is_determined(Wildcards wildcards) {
  return wildcards == Wildcards::kNone || wildcards == Wildcards::kTag;
}

enum class Kind {
  kSend,
  kReceive,
  kSendrecv,    ///< Two ranks exchange messages by MPI_Sendrecv.
  kWait,        ///< One rank completes some of its requests.
  kTest,        ///< One rank tests a request and probes. No effect is expected.
  kCancel,      ///< One rank posts a receive that no message fits, and cancels.
  kCollective,  ///< All members.
};

enum class Mode { kStandard, kSynchronous, kBuffered, kReady };

enum class Style {
  kBlocking,
  kNonblocking,
  kPersistent,
  // Receives only:
  kProbe,
  kIprobe,
  kMprobe,
  kImprobe,
  kCancelRace,  ///< Posted, cancelled, and posted again if that succeeded.
};

constexpr int kNone = -1;

/// Ranks are ranks of the communicator. Fields that a kind does not use have
/// their initial values.
struct Operation {
  Kind kind = Kind::kSend;
  int comm = 0;
  int source = kNone;  ///< Sender, or the rank of kWait, kTest and kCancel.
  int dest = kNone;
  int tag = 0;
  Mode mode = Mode::kStandard;
  Style style = Style::kBlocking;
  Wildcards wildcards = Wildcards::kNone;
  int layout = kNone;   ///< Derived type, or plain bytes.
  int message = kNone;  ///< Index of the message that is sent or expected.
  int other_message = kNone;  ///< kSendrecv: the one from dest to source.
  int capacity = 0;           ///< Bytes that a receive takes.
  int choice = 0;             ///< A random number for details.
  std::vector<int> waits;     ///< kWait: operations whose requests end here.
};

/// A message, and what it carries follows from this. `number` counts the
/// messages of the communicator, source, destination and tag, over all rounds.
struct Message {
  int comm, source, dest, tag;
  int number;
  int size;
};

struct Round {
  int first_operation = 0;  ///< Its number in the whole run.
  std::vector<Operation> operations;
  std::vector<Message> messages;  ///< In the order of their sends.
};

/// Makes one round after the other. The same arguments give the same rounds.
class Schedule {
 public:
  Schedule(std::uint64_t seed, std::vector<Members> comms, int layouts)
      : random_(seed), comms_(std::move(comms)), layouts_(layouts) {}

  /// A round of about this many operations.
  Round next(int operations);

 private:
  using ChannelKey = std::tuple<int, int, int, int>;

  /// Sends and receives of a round that have no partner yet, by their place in
  /// the list. One of the two is empty.
  struct Channel {
    std::vector<int> sends, receives;
    int most_bytes = 0;
  };

  int below(int bound);

  bool chance(int percent) { return below(100) < percent; }

  int random_size();
  Wildcards wildcards_of(int comm, int dest);
  Channel& channel_of(const Operation& operation);
  void step();
  void add_send(int comm, int source, int dest, int tag);
  void add_receive(int comm, int source, int dest, int tag);
  void add_sendrecv(int comm, int source, int dest, int tag);
  void add_wait();
  void choose_unmatched_send(Operation& send, int size);
  void finish_channels();
  void set_capacities();
  int add_message(int comm, int source, int dest, int tag, int size);
  int push(Operation operation);
  void pair(int send, int receive);

  std::mt19937_64 random_;
  std::vector<Members> comms_;
  int layouts_;
  int operations_ = 0;
  Round round_;
  std::map<std::pair<int, int>, Wildcards> wildcards_;
  std::map<ChannelKey, Channel> channels_;
  std::map<ChannelKey, int> numbers_;
  std::map<int, int> buffered_bytes_;          ///< Key: rank of the world.
  std::vector<std::pair<int, int>> waitable_;  ///< Rank of the world, place.
};

/// Limits that schedule and execution share.
constexpr int kTags = 4;
constexpr int kCancelTag = 1000;
constexpr int kMostBufferedBytes = 2 << 20;
constexpr int kPersistentSizes[] = {8, 240, 4000, 66000};

}  // namespace random_matcher
