// The job of acp.hpp, as a program of a user has it. `whole` checks that owners
// of all kinds bear a reset and the end of the job. In `left` rank 0 leaves by
// an exception, and the other ranks must not hang.
#include <cstring>
#include <optional>
#include <stdexcept>

#include "acp/acp.hpp"
#include "conformance/expect.h"

namespace {

/// One owner of each kind but the workspace, whose end is collective.
struct Owners {
  acp::vector<int> vector{1};
  acp::deque<int> deque{1};
  acp::list<int> list{acp_rank()};
  acp::set<int> set{8};
  acp::map<int, int> map{8};
  acp::registered<int> registered{4};
  acp::allocated<int> allocated{4};
  acp::future<int> future = acp::async_get(allocated.ptr());
};

/// Makes new objects after the reset, which get the numbers of the old ones.
int run_whole(int argc, char** argv) {
  std::optional<Owners> outlive;
  std::optional<acp::workspace> workspace;
  {
    acp::job job(argc, argv);
    EXPECT(job.rank() == acp_rank() && job.ranks() == acp_procs());
    EXPECT(job.colors() >= 1);
    std::optional<Owners> old(std::in_place);
    job.sync();
    EXPECT(acp::sync_for(std::chrono::seconds(60)));
    job.reset(job.ranks() - 1 - job.rank());
    outlive.emplace();
    workspace.emplace(64);
    acp_errno = 0;
    old.reset();
    EXPECT(acp_errno == 0);
    EXPECT(outlive->vector.size() == 1);
    EXPECT(outlive->map.insert(1, 2));
    acp::put(outlive->allocated.ptr(), 3);
    EXPECT(acp::get(outlive->allocated.ptr()) == 3);
    acp::sync();
    job.finalize();
  }
  acp_errno = 0;
  outlive.reset();
  workspace.reset();
  EXPECT(acp_errno == 0);
  try {
    acp::sync();
    EXPECT(false);
  } catch (const acp::error& error) {
    EXPECT(error.code() == ACPX_FINALIZED);
    EXPECT(std::strstr(error.what(), "acp_sync: ") != nullptr);
  }
  return g_failures == 0 ? 0 : 1;
}

int run_left(int argc, char** argv) {
  try {
    const acp::job job(argc, argv);
    const acp::workspace workspace(64);
    const acp::vector<int> vector(1);
    if (job.rank() == 0) {
      throw std::runtime_error("rank 0 has had enough");
    }
    acp::sync();
  } catch (const std::runtime_error&) {
    return 0;  // Not reached: the destructor of the job has ended all ranks.
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return argc > 1 && std::strcmp(argv[1], "left") == 0 ? run_left(argc, argv)
                                                       : run_whole(argc, argv);
}
