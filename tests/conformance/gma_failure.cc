// Tests of the followers of a failed operation, and of its report. On
// paths where the caller sees every error, failures happen in the call and
// concern no other operation. Both ways are accepted, and each is checked to
// its end.
#include <cstdio>
#include <string>

#include "support/spmd.h"
#include "support/spmd_memory.h"
#include "support/stderr_capture.h"

using spmd::Block;
using spmd::Memory;

namespace {

/// An address on `rank` whose key is dead. Collective.
acp_ga_t dead_address(int rank) {
  static std::uint64_t word = 0;
  const acp_atkey_t key = acp_register_memory(&word, sizeof word, 0);
  EXPECT(key != ACP_ATKEY_NULL);
  const auto all = spmd::gather(acp_query_ga(key, &word));
  EXPECT_EQ(acp_unregister_memory(key), 0);
  EXPECT_EQ(acp_sync(), 0);
  return all[static_cast<std::size_t>(rank)];
}

/// Starts an operation on the dead address, operations ordered after it by its
/// handle or by `is_all`, and one without an order. Returns whether the first
/// has failed after its call; the others are started only then.
bool fails_with_followers(const Block& block, acp_ga_t dead, bool is_all) {
  const int right = spmd::right_of(acp_rank());
  acp_errno = 0;
  const acp_handle_t failed =
      acp_copy(dead, block.mine(64), 8, ACP_HANDLE_NULL);
  if (failed == ACP_HANDLE_NULL) {
    EXPECT_EQ(acp_errno, int{ACPX_BAD_KEY});
    return false;
  }
  const acp_handle_t follower = acp_copy(block.at(right), block.mine(64), 8,
                                         is_all ? ACP_HANDLE_ALL : failed);
  // Alone it would be done in the call.
  (void)acpx_put_signal(ACP_GA_NULL, ACP_GA_NULL, 0, block.mine(40), 1,
                        is_all ? ACP_HANDLE_ALL : failed);
  const acp_handle_t chain[2] = {
      acp_add8(block.mine(128), block.at(right), 1,
               follower != ACP_HANDLE_NULL ? follower : failed),
      // An operation without an order is not concerned.
      acp_copy(block.at(right, 32), block.mine(64), 8, ACP_HANDLE_NULL)};
  EXPECT(chain[1] != ACP_HANDLE_NULL);
  EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, spmd::kPatience), -1);
  EXPECT_EQ(acp_errno, int{ACPX_BAD_KEY});
  EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, spmd::kPatience), 0);
  return true;
}

}  // namespace

SPMD_CASE(failure_is_reported_once,
          "acp_complete: reports a failure to the first who covers it") {
  const Block block(Memory::kLibrary, 256);
  const acp_ga_t dead = dead_address(spmd::right_of(acp_rank()));
  acp_errno = 0;
  const acp_handle_t handle = acp_copy(dead, block.mine(), 8, ACP_HANDLE_NULL);
  if (handle != ACP_HANDLE_NULL) {
    EXPECT_EQ(acp_errno, 0);
    acp_complete(handle);
  }
  EXPECT_EQ(acp_errno, int{ACPX_BAD_KEY});
  acp_errno = 0;
  acp_complete(handle);
  acp_complete(ACP_HANDLE_ALL);
  EXPECT_EQ(acp_errno, 0);
  EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, spmd::kPatience), 0);
}

SPMD_CASE(followers_do_not_start,
          "order: what is ordered after a failure fails and never starts") {
  const Block block(Memory::kLibrary, 256);
  const acp_ga_t dead = dead_address(spmd::right_of(acp_rank()));
  const int left = (acp_rank() + acp_procs() - 1) % acp_procs();
  block.word(8).store(99);
  for (const bool is_all : {false, true}) {
    // The neighbours may be on unlike paths, one of them on this host.
    const auto have_failed_late =
        spmd::gather(fails_with_followers(block, dead, is_all));
    EXPECT_EQ(block.word(0).load(), 0U);
    EXPECT_EQ(block.word(4).load(),
              have_failed_late[static_cast<std::size_t>(left)] ? 99U : 0U);
    EXPECT_EQ(block.word(5).load(), 0U);
    EXPECT_EQ(acp_sync(), 0);
  }
}

// The failed handle is used as an order in each of three ways after its failure
// was collected, and the copies have to run.
SPMD_CASE(collected_failures_are_over,
          "order: after the failure is collected its handle is satisfied") {
  const Block block(Memory::kLibrary, 256);
  const int right = spmd::right_of(acp_rank());
  const acp_ga_t dead = dead_address(right);
  const acp_handle_t failed =
      acp_copy(block.mine(128), dead, 8, ACP_HANDLE_NULL);
  if (failed != ACP_HANDLE_NULL) {
    EXPECT_EQ(acpx_complete_timeout(failed, spmd::kPatience), -1);
  }
  block.word(8).store(7);
  EXPECT_DONE(acp_copy(block.at(right), block.mine(64), 8, failed));
  EXPECT_DONE(acp_copy(block.at(right, 8), block.mine(64), 8, ACP_HANDLE_ALL));
  EXPECT_DONE(
      acp_copy(block.at(right, 16), block.mine(64), 8, ACP_HANDLE_CONT));
  EXPECT_EQ(acp_sync(), 0);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(block.word(i).load(), 7U);
  }
}

// Each rank copies between the two ranks right of it, which may be on other
// hosts. The key of one end is dead, of the source first.
SPMD_CASE(dead_end_is_named,
          "acp_copy between two other ranks: the line of a failure names the "
          "end whose key is dead, and no other") {
  const Block block(Memory::kRegistered, 64);
  const int near = spmd::right_of(acp_rank());
  const int far = spmd::right_of(near);
  if (acp_procs() < 3) {
    return;
  }
  const acp_ga_t dead_near = dead_address(near);
  const acp_ga_t dead_far = dead_address(far);
  for (const bool is_source : {true, false}) {
    const acp_ga_t dead = is_source ? dead_near : dead_far;
    const acp_ga_t live = is_source ? block.at(far) : block.at(near);
    spmd::StderrCapture capture;
    const acp_handle_t handle = acp_copy(
        is_source ? live : dead, is_source ? dead : live, 8, ACP_HANDLE_NULL);
    if (handle != ACP_HANDLE_NULL) {
      EXPECT_EQ(acpx_complete_timeout(handle, spmd::kPatience), -1);
    }
    EXPECT_EQ(acp_errno, int{ACPX_BAD_KEY});
    EXPECT_EQ(acp_sync(), 0);  // lines of delegated copies come here, too
    const std::string line = capture.stop();
    char named[64];
    (void)std::snprintf(
        named, sizeof named, "; %#018llx on rank %d was unregistered",
        static_cast<unsigned long long>(dead), is_source ? near : far);
    EXPECT(line.find(named) != std::string::npos);
    EXPECT(line.find(" or 0x") == std::string::npos);
  }
}

// One bad copy stands in the middle of many good ones. A transport that refuses
// it in the call leaves no failure to collect.
SPMD_CASE(failure_among_many,
          "acp_complete: one failure among many concerns only itself") {
  const std::size_t count = spmd::scaled(10'000, 500);
  const Block block(Memory::kRegistered, (2 * count + 8) * 8);
  const int right = spmd::right_of(acp_rank());
  const acp_ga_t dead = dead_address(right);
  for (std::size_t i = 0; i < count; ++i) {
    block.word(i).store(i + 1);
  }
  EXPECT_EQ(acp_sync(), 0);
  bool is_queued = false;
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT(acp_copy(block.at(right, (count + i) * 8), block.mine(i * 8), 8,
                    ACP_HANDLE_NULL) != ACP_HANDLE_NULL);
    if (i == count / 2) {
      is_queued =
          acp_copy(dead, block.mine(), 8, ACP_HANDLE_NULL) != ACP_HANDLE_NULL;
    }
  }
  EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, spmd::kPatience),
            is_queued ? -1 : 0);
  EXPECT_EQ(acp_sync(), 0);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(block.word(count + i).load(), i + 1);
  }
}

SPMD_CASE(no_failure_is_forgotten,
          "acp_complete: the oldest of many failures is still reported") {
  constexpr int kFailures = 300;
  const Block block(Memory::kLibrary, 256);
  const int right = spmd::right_of(acp_rank());
  const acp_ga_t dead = dead_address(right);
  block.word(8).store(99);
  EXPECT_EQ(acp_sync(), 0);
  const acp_handle_t first =
      acp_rank() == 0 ? acp_copy(dead, block.mine(64), 8, ACP_HANDLE_NULL)
                      : ACP_HANDLE_NULL;
  if (first != ACP_HANDLE_NULL) {
    for (int i = 1; i < kFailures; ++i) {
      // Failures with successes between them do not count as one.
      acp_copy(block.at(right, 32), block.mine(64), 8, ACP_HANDLE_NULL);
      acp_copy(dead, block.mine(64), 8, ACP_HANDLE_NULL);
    }
    while (acp_inquire(ACP_HANDLE_ALL) != 0) {
    }
    const acp_handle_t follower =
        acp_copy(block.at(right), block.mine(64), 8, first);
    acp_errno = 0;
    EXPECT_EQ(acpx_complete_timeout(first, spmd::kPatience), -1);
    EXPECT_EQ(acp_errno, int{ACPX_BAD_KEY});
    EXPECT_EQ(acpx_complete_timeout(follower, spmd::kPatience), -1);
    EXPECT_EQ(acpx_complete_timeout(ACP_HANDLE_ALL, spmd::kPatience), 0);
  }
  EXPECT_EQ(acp_sync(), 0);
  EXPECT_EQ(block.word(0).load(), 0U);
  EXPECT_EQ(acp_sync(), 0);
}
