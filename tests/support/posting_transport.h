// A transport that executes posted steps in the caller's thread: the ranks of
// these jobs are threads of one process. It refuses and puts off steps at
// random, and executes the accepted steps only in a later poll.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transport/transport.h"

namespace acp::test {

/// kAgree: posted atomics of 8 bytes are atomic with atomics of CPUs, and
/// agents execute them too. kDisagree: they are not, and only the transport
/// executes them.
enum class PostedAtomics : std::uint8_t { kAgree, kDisagree };

/// The regions of all ranks of a job, and how many accepted chains use each.
/// Thread-safe.
class PostingHub {
 public:
  explicit PostingHub(PostedAtomics atomics) : atomics_(atomics) {}

  void add(transport::ProcId proc, const transport::Region& region);
  /// Implements Transport::on_unregistered.
  bool remove(transport::ProcId proc, std::uint32_t key, std::uint64_t state);
  void forget(transport::ProcId proc);

  /// Whether the steps can be executed. If so, all their regions are in use
  /// until run().
  bool begin(transport::ProcId from,
             transport::ProcId to,
             std::span<const transport::RemoteStep> steps);
  /// Executes the steps. Asserts that no region in use has been removed.
  void run(transport::ProcId from,
           transport::ProcId to,
           std::span<const transport::RemoteStep> steps);

  PostedAtomics atomics() const noexcept { return atomics_; }

  using Pair = std::pair<transport::ProcId, transport::ProcId>;

  /// Notes that a process has asked for the endpoint to another one.
  void note_endpoint(const Pair& ends);
  /// The pairs that note_endpoint() has got.
  std::set<Pair> endpoints();

  /// Orders what the calling thread has done before what other threads do after
  /// their next call of look() or run(), and the reverse.
  void look() { const std::lock_guard lock(mutex_); }

 private:
  struct Entry {
    transport::Region region;
    int flights = 0;      ///< Accepted chains that use the region.
    bool is_live = true;  ///< False once remove() was called.
  };

  using Id = std::pair<transport::ProcId, std::uint32_t>;

  /// The regions that a step touches. `near` is null without a local end.
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
  std::mutex mutex_;  ///< Guards entries_ and the memory of posted steps.
  std::multimap<Id, Entry> entries_;
  std::set<Pair> endpoints_;  ///< Guarded by mutex_.
};

/// The given transport carries the messages. All ranks of a job share `hub`.
/// `fabric` is the transport's fabric().
std::unique_ptr<transport::Transport> make_posting_transport(
    std::unique_ptr<transport::Transport> transport,
    std::shared_ptr<PostingHub> hub,
    transport::ProcId me,
    std::string fabric = {});

}  // namespace acp::test
