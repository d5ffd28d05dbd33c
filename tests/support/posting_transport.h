// A wire whose steps without the peer are done by the caller's thread: the
// ranks of these jobs are threads of one process. It refuses and puts off at
// random what it is given, and does the rest late.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "transport/transport.h"

namespace acp::test {

/// Who executes atomics of 8 bytes besides the wire: the agents, or nobody,
/// since they are not atomic with those of a CPU.
enum class PostedAtomics : std::uint8_t { kAgree, kDisagree };

/// What all ranks of a job have registered, and who is at it. Thread-safe.
class PostingHub {
 public:
  explicit PostingHub(PostedAtomics atomics) : atomics_(atomics) {}

  void add(transport::ProcId proc, const transport::Region& region);
  /// As Transport::on_unregistered.
  bool remove(transport::ProcId proc, std::uint32_t key, std::uint64_t state);
  void forget(transport::ProcId proc);

  /// Whether the steps can be done; then all ends are in use until run().
  bool begin(transport::ProcId from,
             transport::ProcId to,
             std::span<const transport::RemoteStep> steps);
  /// Does them. Asserts that no memory was let go that was in use.
  void run(transport::ProcId from,
           transport::ProcId to,
           std::span<const transport::RemoteStep> steps);

  PostedAtomics atomics() const noexcept { return atomics_; }

  /// What others have done here is seen by whoever has called this.
  void look() { const std::lock_guard lock(mutex_); }

 private:
  struct Entry {
    transport::Region region;
    int flights = 0;
    bool is_live = true;
  };

  using Id = std::pair<transport::ProcId, std::uint32_t>;

  /// The regions that a step touches; near: null without a local end.
  struct Ends {
    Entry* far = nullptr;
    Entry* near = nullptr;
  };

  Entry* find(transport::ProcId proc,
              std::uint32_t key,
              std::uint64_t state,
              std::uint64_t mask);
  std::vector<Ends> ends_of(transport::ProcId from,
                            transport::ProcId to,
                            std::span<const transport::RemoteStep> steps);

  const PostedAtomics atomics_;
  std::mutex mutex_;  ///< Guards all that follows.
  std::multimap<Id, Entry> entries_;
};

/// `wire` carries the messages. `hub` is one for all ranks of the job.
std::unique_ptr<transport::Transport> make_posting_transport(
    std::unique_ptr<transport::Transport> wire,
    std::shared_ptr<PostingHub> hub,
    transport::ProcId me);

}  // namespace acp::test
