// Builds the keeper's requests, and judges ranks that could not be started.
// Called by HostPart; KeeperConnection takes the advice on a failed fork from
// it. It starts no rank itself: the keeper does.
#include "launcher/launch.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "base/log.h"
#include "launcher/early_exit.h"
#include "launcher/words.h"
#include "protocol/bootstrap.h"

namespace acp::launcher {

namespace {

/// The variables that differ between ranks.
std::vector<std::string> numbers_of(const HostWork& work, std::size_t slot) {
  return {
      fmt::format("{}={}", protocol::kRankVariable, work.ranks[slot].rank),
      fmt::format("{}={}", protocol::kProcsVariable, work.procs),
      fmt::format("{}={}", protocol::kLocalRankVariable, slot),
      fmt::format("{}={}", protocol::kLocalProcsVariable, work.ranks.size())};
}

/// The environment of one rank: its own variables first, then those of all
/// ranks, except where the rank has a setting of that name.
std::vector<char*> environment_of(const std::vector<std::string>& own,
                                  const RankPlan& rank,
                                  const std::vector<std::string>& common) {
  std::vector<char*> pointers = pointers_to(own);
  pointers.pop_back();
  const auto is_replaced = [&rank](const std::string& entry) {
    return std::ranges::any_of(rank.settings, [&](const std::string& setting) {
      return entry.starts_with(setting.substr(0, setting.find('=') + 1));
    });
  };
  for (const std::string& entry : common) {
    if (!is_replaced(entry))
      pointers.push_back(const_cast<char*>(entry.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

/// One rank's argv and environment, and the variables of this rank alone, which
/// the environment points into.
struct ExecArrays {
  std::vector<std::string> numbers;
  std::vector<char*> words;
  std::vector<char*> environment;
};

/// Memory that an exec shim shares with the keeper, also where vfork is a plain
/// fork.
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

  SpawnFailure* make(std::size_t slot) {
    return new (static_cast<SpawnFailure*>(memory_) + slot) SpawnFailure{};
  }

 private:
  std::size_t bytes_;
  void* memory_;
};

}  // namespace

/// All strings and arrays are made before the fork, because a shim may only
/// make system calls. They live until the keeper has its copy.
Status start_ranks(const HostWork& work,
                   std::span<const RankStreams> streams,
                   std::span<const UniqueFd> bootstrap_ends,
                   const InheritedState& inherited,
                   KeeperConnection& keeper) {
  const std::size_t ranks = work.ranks.size();
  SharedFailures failures(ranks);
  if (!failures.is_mapped()) {
    log_error("shared memory for {} ranks: {}", ranks, errno_text(errno));
    return Status::kSystem;
  }
  std::vector<ExecArrays> arrays(ranks);
  std::vector<SpawnRequest> requests(ranks);
  for (std::size_t slot = 0; slot < ranks; ++slot) {
    const RankPlan& one = work.ranks[slot];
    ExecArrays& own = arrays[slot];
    own.words = pointers_to(one.words);
    own.numbers = numbers_of(work, slot);
    own.numbers.insert(own.numbers.end(), one.settings.begin(),
                       one.settings.end());
    own.environment = environment_of(own.numbers, one, work.environment);
    SpawnRequest& request = requests[slot];
    request.path = one.path.c_str();
    request.words = own.words.data();
    request.environment = own.environment.data();
    const std::string& directory =
        one.directory.empty() ? work.directory : one.directory;
    request.directory = directory.empty() ? nullptr : directory.c_str();
    for (std::size_t i = 0; i < 3; ++i) {
      request.standard[i] = streams[slot].rank_ends[i].get();
    }
    request.bootstrap = bootstrap_ends[slot].get();
    request.cpus = one.cpus.mask.is_empty() ? nullptr : &one.cpus.mask;
    request.inherited = &inherited;
    request.failure = failures.make(slot);
  }
  return keeper.start(requests, work.copied_program);
}

namespace {

/// Advice for a stage of the shim that failed; "" where there is none.
std::string advise_on_start(SpawnStage stage, int error) {
  if (stage == SpawnStage::kDirectory) return "check --wdir";
  if (stage != SpawnStage::kExec) return "";
  switch (error) {
    case EACCES:
      return "the file has to be executable (chmod +x), and its file system "
             "must not be mounted noexec";
    case EPERM:
      return "the system forbids to run it: a security module, seccomp, or "
             "capabilities of the file";
    case ENOEXEC:
      return "it is no program of this machine; a script begins with #!";
    case ENOENT:
      return "the interpreter that it names in its first line is missing, or "
             "it "
             "has gone since acprun looked";
    case ENOMEM: return "free memory, or start fewer ranks";
    default: return "";
  }
}

}  // namespace

FailedStart judge_failed_start(const HostWork& work,
                               std::uint32_t slot,
                               SpawnStage stage,
                               int error) {
  const bool is_missing = error == ENOENT || error == ENOTDIR;
  const int status = stage != SpawnStage::kExec ? kStatusLauncher
                     : is_missing               ? kStatusNotFound
                                                : kStatusCannotRun;
  const RankPlan& rank = work.ranks[slot];
  const std::string& directory =
      rank.directory.empty() ? work.directory : rank.directory;
  const std::string& what =
      stage == SpawnStage::kDirectory ? directory : rank.path;
  return {status,
          {fmt::format("{}: {}", what, errno_text(error)),
           advise_on_start(stage, error)}};
}

FailedStart judge_failed_fork(int error) {
  return {kStatusLauncher,
          {fmt::format("fork: {}", errno_text(error)), advise_on_fork(error)}};
}

std::string advise_on_fork(int error) {
  return error == EAGAIN
             ? "there may be no more processes: raise ulimit -u or the "
               "container's limit (pids.max), or start fewer ranks"
             : "free memory, or start fewer ranks";
}

}  // namespace acp::launcher
