#include "launcher/launch.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <new>

#include "base/log.h"
#include "launcher/early_exit.h"

namespace acp::launcher {

namespace {

/// Null-terminated array of pointers into `words`, as exec wants it.
std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) {
    pointers.push_back(const_cast<char*>(word.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

/// Memory that a shim shares with its parents, also when it has been forked.
class SharedFailures {
 public:
  explicit SharedFailures(std::size_t count)
      : bytes_(count * sizeof(SpawnFailure)),
        memory_(::mmap(nullptr,
                       bytes_,
                       PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS,
                       -1,
                       0)) {}

  SharedFailures(const SharedFailures&) = delete;
  SharedFailures& operator=(const SharedFailures&) = delete;

  ~SharedFailures() {
    if (is_mapped()) ::munmap(memory_, bytes_);
  }

  bool is_mapped() const { return memory_ != MAP_FAILED; }

  SpawnFailure* make(std::size_t rank) {
    return new (static_cast<SpawnFailure*>(memory_) + rank) SpawnFailure{};
  }

 private:
  std::size_t bytes_;
  void* memory_;
};

}  // namespace

Status start_ranks(const JobPlan& plan,
                   std::span<const RankStreams> streams,
                   std::span<const UniqueFd> bootstrap_ends,
                   const InheritedState& inherited,
                   KeeperLink& keeper) {
  const std::size_t ranks = plan.ranks.size();
  SharedFailures failures(ranks);
  if (!failures.is_mapped()) {
    log_error("shared memory for {} ranks: {}", ranks, errno_text(errno));
    return Status::kSystem;
  }
  const std::vector<char*> environment = pointers_to(plan.environment);
  std::vector<std::vector<char*>> words(ranks);
  std::vector<SpawnRequest> requests(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const RankPlan& one = plan.ranks[rank];
    words[rank] = pointers_to(one.words);
    SpawnRequest& request = requests[rank];
    request.path = one.path.c_str();
    request.words = words[rank].data();
    request.environment = environment.data();
    const std::string& directory = plan.options.directory;
    request.directory = directory.empty() ? nullptr : directory.c_str();
    for (std::size_t i = 0; i < 3; ++i) {
      request.standard[i] = streams[rank].rank_ends[i].get();
    }
    request.bootstrap = bootstrap_ends[rank].get();
    request.cpus = one.cpus.mask.data();
    request.cpu_bytes = one.cpus.mask.size() * sizeof(unsigned long);
    request.inherited = &inherited;
    request.failure = failures.make(rank);
  }
  return keeper.start(requests);
}

Verdict judge_failed_start(const JobPlan& plan,
                           std::uint32_t rank,
                           std::uint32_t pid,
                           SpawnStep step,
                           int error) {
  const bool is_missing = error == ENOENT || error == ENOTDIR;
  const int status = step != SpawnStep::kExec ? kStatusLauncher
                     : is_missing             ? kStatusNotFound
                                              : kStatusCannotRun;
  const std::string& what = step == SpawnStep::kDirectory
                                ? plan.options.directory
                                : plan.ranks[rank].path;
  return {Cause::kNotStarted,
          rank,
          pid,
          status,
          fmt::format("{}: {}", what, errno_text(error)),
          {}};
}

}  // namespace acp::launcher
