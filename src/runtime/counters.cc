// Counts for acprun --stats. Called by the public functions while the job
// counts, by WaitRecord, and by OwnRegions. It allocates only when a thread
// moves something to a peer, waits in a function, or counts by a name for the
// first time.
#include "runtime/counters.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

#include "base/immortal.h"
#include "base/memory_reserve.h"

namespace acp::runtime {

using protocol::kMostCalls;
using protocol::kMostOwnCounts;
using protocol::kNoSlot;
using protocol::PeerCounters;

thread_local constinit PeerCounters** t_rows_by_rank
    __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

/// The rows of one thread. A thread that ends leaves them to the next new one,
/// so their number does not grow with the threads that a program ever starts.
struct ThreadRows {
  struct Use {
    PeerCounters* row;
    gmm::Rank rank;  ///< Entry of by_rank that leads to the row.
  };

  ~ThreadRows() { std::free(by_rank); }

  ThreadRows() = default;
  ThreadRows(const ThreadRows&) = delete;
  ThreadRows& operator=(const ThreadRows&) = delete;

  /// An entry for each rank of the job. Zeros of calloc take no memory until
  /// they are used, so a job of a million ranks costs only address space.
  PeerCounters** by_rank = nullptr;
  std::vector<Use> uses;
};

struct Pool {
  std::mutex mutex;  ///< Guards both lists.
  std::vector<std::unique_ptr<ThreadRows>> all;
  std::vector<ThreadRows*> unused;
};

Pool& pool() {
  static Immortal<Pool> pool;
  return *pool;
}

/// The rows that a thread has taken from the pool. Its end gives them back.
struct Lease {
  Lease() = default;
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  ~Lease() {
    if (rows != nullptr) {
      t_rows_by_rank = nullptr;
      const std::lock_guard lock(pool().mutex);
      pool().unused.push_back(rows);
    }
  }

  ThreadRows* rows = nullptr;
};

thread_local Lease t_lease;

/// Null: no memory.
ThreadRows* rows_of_this_thread(std::uint32_t procs) {
  if (t_lease.rows != nullptr) {
    return t_lease.rows;
  }
  const std::lock_guard lock(pool().mutex);
  if (pool().unused.empty()) {
    auto rows = std::make_unique<ThreadRows>();
    rows->by_rank =
        static_cast<PeerCounters**>(std::calloc(procs, sizeof(PeerCounters*)));
    if (rows->by_rank == nullptr) {
      return nullptr;
    }
    pool().unused.push_back(rows.get());
    pool().all.push_back(std::move(rows));
  }
  t_lease.rows = pool().unused.back();
  pool().unused.pop_back();
  t_rows_by_rank = t_lease.rows->by_rank;
  return t_lease.rows;
}

std::int64_t ns_of(TimePoint time) noexcept {
  return time.time_since_epoch().count();
}

/// Adds to a word that only the caller writes.
template <typename T>
void add(std::atomic<T>& word, T value) noexcept {
  word.store(word.load(std::memory_order_relaxed) + value,
             std::memory_order_relaxed);
}

/// "acp_wait_ch (receive) for rank 3" becomes "acp_wait_ch (receive)" and 3.
/// Otherwise nothing changes.
void split_rank(std::string_view& name, std::uint32_t& peer) noexcept {
  constexpr std::string_view kFor = " for rank ";
  const std::size_t at = name.rfind(kFor);
  if (at == std::string_view::npos) {
    return;
  }
  std::uint32_t rank = 0;
  const char* end = name.data() + name.size();
  const auto [rest, failure] =
      std::from_chars(name.data() + at + kFor.size(), end, rank);
  if (failure == std::errc{} && rest == end) {
    peer = rank;
    name = name.substr(0, at);
  }
}

}  // namespace

Counters::Counters(const protocol::HostSegment& segment,
                   std::uint32_t slot,
                   const Settings& settings)
    : segment_(segment),
      part_(*segment.counters(slot)),
      peer_rows_(protocol::peer_rows_for(segment.header().procs)) {
  part_.heap_bytes.store(settings.number(SettingId::kHeapSize),
                         std::memory_order_relaxed);
  part_.began_ns.store(ns_of(SteadyClock().now()), std::memory_order_relaxed);
}

/// The thread has no row for this rank yet, or acp_reset has changed the rank
/// of its peer. Where there is no memory for the table, the row without a
/// number takes the counts.
PeerCounters& Counters::make_row(gmm::Rank rank) {
  const MustNotFail must_not_fail;
  const std::uint32_t proc =
      segment_.proc_of_rank()[rank].load(std::memory_order_relaxed);
  ThreadRows* mine = rows_of_this_thread(segment_.header().procs);
  if (mine == nullptr) {
    return *claim_row(protocol::kOtherPeers);
  }
  const auto of_peer = [proc](const ThreadRows::Use& use) {
    return use.row->proc.load(std::memory_order_relaxed) == proc;
  };
  const auto found = has_renumbered_ ? std::ranges::find_if(mine->uses, of_peer)
                                     : mine->uses.end();
  PeerCounters* row = found != mine->uses.end() ? found->row : claim_row(proc);
  mine->by_rank[rank] = row;
  mine->uses.push_back({row, rank});
  return *row;
}

/// The last row is shared by the peers, and threads, that come too late for a
/// row of their own.
PeerCounters* Counters::claim_row(std::uint32_t proc) noexcept {
  const std::uint32_t last = peer_rows_ - 1;
  const std::uint32_t index =
      proc == protocol::kOtherPeers
          ? last
          : std::min(last,
                     part_.peer_rows.fetch_add(1, std::memory_order_relaxed));
  PeerCounters& row = part_.rows()[index];
  row.proc.store(index == last ? protocol::kOtherPeers : proc,
                 std::memory_order_relaxed);
  return &row;
}

void Counters::begin_waiting(TimePoint now) noexcept {
  part_.waits_since_ns.store(ns_of(now), std::memory_order_relaxed);
}

void Counters::end_waiting(TimePoint now) noexcept {
  add(part_.waited_ns,
      ns_of(now) - part_.waits_since_ns.load(std::memory_order_relaxed));
  part_.waits_since_ns.store(0, std::memory_order_relaxed);
}

/// The row of a function, which is made at its first wait.
std::size_t Counters::index_of_call(protocol::WaitKind kind,
                                    std::string_view name) {
  const std::size_t used = calls_.size();
  for (std::size_t i = 0; i < used; ++i) {
    if (calls_[i].name == name && (!name.empty() || calls_[i].kind == kind)) {
      return i;
    }
  }
  if (used == kMostCalls) {
    return used - 1;
  }
  protocol::CallCounters& row = part_.call[used];
  row.kind.store(static_cast<std::uint32_t>(kind), std::memory_order_relaxed);
  row.name.set(used == kMostCalls - 1 ? "other functions"
                                      : std::string(name).c_str());
  row.peer.store(kNoSlot, std::memory_order_relaxed);
  calls_.push_back({kind, std::string(name), {}});
  // Release: the launcher reads the row after this number (acquire).
  part_.calls.store(static_cast<std::uint32_t>(used + 1),
                    std::memory_order_release);
  return used;
}

/// Times of peers are kept in this process. The segment has the largest one.
void Counters::note_wait(protocol::WaitKind kind,
                         const char* name,
                         std::uint32_t peer,
                         Duration time) {
  const MustNotFail must_not_fail;
  std::string_view function = name == nullptr ? std::string_view() : name;
  split_rank(function, peer);
  const std::size_t index = index_of_call(kind, function);
  protocol::CallCounters& row = part_.call[index];
  const auto ns = static_cast<std::uint64_t>(time.count());
  add(row.waits, std::uint64_t{1});
  add(row.waited_ns, ns);
  if (peer >= segment_.header().procs) {
    return;
  }
  const std::uint32_t proc =
      segment_.proc_of_rank()[peer].load(std::memory_order_relaxed);
  const std::uint64_t of_peer = calls_[index].ns_of_peer[proc] += ns;
  if (of_peer >= row.peer_ns.load(std::memory_order_relaxed)) {
    row.peer.store(proc, std::memory_order_relaxed);
    row.peer_ns.store(of_peer, std::memory_order_relaxed);
  }
}

void Counters::note_region(std::int64_t bytes) noexcept {
  const auto change = static_cast<std::uint64_t>(bytes);
  const std::uint64_t now =
      part_.registered_bytes.fetch_add(change, std::memory_order_relaxed) +
      change;
  std::uint64_t most =
      part_.registered_most_bytes.load(std::memory_order_relaxed);
  while (bytes > 0 && now > most &&
         !part_.registered_most_bytes.compare_exchange_weak(
             most, now, std::memory_order_relaxed)) {
  }
}

/// A name gets its row when it is counted for the first time.
void Counters::add_own(std::string_view name, std::uint64_t amount) {
  const MustNotFail must_not_fail;
  const std::lock_guard lock(own_mutex_);
  const auto known = std::ranges::find(own_names_, name);
  auto index = static_cast<std::size_t>(known - own_names_.begin());
  if (index == kMostOwnCounts) {
    --index;
  } else if (known == own_names_.end()) {
    own_names_.emplace_back(name);
    part_.own_count[index].name.set(index == kMostOwnCounts - 1
                                        ? "other counts"
                                        : own_names_.back().c_str());
    // Release: the launcher reads the row after this number (acquire).
    part_.own_counts.store(static_cast<std::uint32_t>(index + 1),
                           std::memory_order_release);
  }
  add(part_.own_count[index].value, amount);
}

void Counters::forget_ranks() noexcept {
  has_renumbered_ = true;
  const std::lock_guard lock(pool().mutex);
  for (const auto& rows : pool().all) {
    for (ThreadRows::Use& use : rows->uses) {
      rows->by_rank[use.rank] = nullptr;
    }
    // One entry for each row is enough: make_row() finds the rows by it.
    std::ranges::sort(rows->uses, {}, &ThreadRows::Use::row);
    const auto is_same = [](const ThreadRows::Use& a,
                            const ThreadRows::Use& b) {
      return a.row == b.row;
    };
    rows->uses.erase(std::unique(rows->uses.begin(), rows->uses.end(), is_same),
                     rows->uses.end());
  }
}

void Counters::end() noexcept {
  part_.ended_ns.store(ns_of(SteadyClock().now()), std::memory_order_relaxed);
}

}  // namespace acp::runtime
