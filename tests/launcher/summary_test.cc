// Tests the text of the summary after a failed job.
#include "launcher/summary.h"

#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "launcher/launch.h"
#include "launcher/rank_set.h"
#include "protocol/host_segment.h"

namespace acp::launcher {

TEST_CASE("summary: who, what the others did, what was done",
          "[launcher][summary]") {
  const std::vector<RankWait> waits = {{0, 0, "waiting in acp_sync"},
                                       {1, 1, "gone"},
                                       {2, 2, "waiting in acp_sync"},
                                       {3, 3, "waiting in acp_sync"},
                                       {4, 4, "computing"}};
  const Verdict verdict{Cause::kSignaled, 1, 4242, SIGKILL, {}, {}};
  CHECK(summarize(verdict, "node7", waits) ==
        "acprun: rank 1 on node7 (pid 4242) was killed by signal 9 (Killed)\n"
        "acprun: ranks 0,2-3 were waiting in acp_sync\n"
        "acprun: rank 4 was computing\n"
        "acprun: ended the job with status 137; acprun did not send it: look "
        "for \"out of memory\" in dmesg, or for who did\n");
}

// Six groups have to share five lines. The largest group and the single ranks
// keep lines of their own.
TEST_CASE("summary: five lines for what many groups of ranks did",
          "[launcher][summary]") {
  std::vector<RankWait> waits;
  const std::vector<std::string> calls = {"waiting in acp_sync",
                                          "waiting in acp_sync",
                                          "waiting in acp_sync",
                                          "waiting in acp_sync",
                                          "waiting in QMP_wait",
                                          "waiting in QMP_wait",
                                          "waiting in QMP_wait",
                                          "computing",
                                          "waiting in acp_wait_ch",
                                          "waiting in acp_finalize",
                                          "computing",
                                          "waiting in acp_complete"};
  for (std::uint32_t rank = 0; rank < calls.size(); ++rank) {
    waits.push_back({rank, rank, calls[rank]});
  }
  const Verdict verdict{Cause::kTimeout, kNoRank, 0, 1000, {}, {}};
  CHECK(summarize(verdict, "h", waits) ==
        "acprun: the job ran longer than --timeout=1 on h\n"
        "acprun: ranks 0-3 were waiting in acp_sync\n"
        "acprun: ranks 4-7,10 were doing something else: waiting in QMP_wait, "
        "computing\n"
        "acprun: rank 11 was waiting in acp_complete\n"
        "acprun: rank 9 was waiting in acp_finalize\n"
        "acprun: rank 8 was waiting in acp_wait_ch\n"
        "acprun: ended the job with status 124; give a longer --timeout if it "
        "needs one; if all ranks wait, look for a call that one of them left "
        "out\n");
}

TEST_CASE("summary: ranks in one call are one group, whatever their peers",
          "[launcher][summary]") {
  using protocol::kNoSlot;
  const std::vector<RankWait> waits = {{0, 0, "waiting in acp_sync", 2},
                                       {1, 1, "waiting in acp_sync", 3},
                                       {2, 2, "waiting in acp_complete", 0},
                                       {3, 3, "waiting in acp_reset", 1},
                                       {4, 4, "waiting in acp_reset", kNoSlot}};
  const Verdict verdict{Cause::kTimeout, kNoRank, 0, 1000, {}, {}};
  const std::string text = summarize(verdict, "h", waits);
  INFO(text);
  CHECK(text.find("ranks 0-1 were waiting in acp_sync for ranks 2-3\n") !=
        std::string::npos);
  CHECK(text.find("rank 2 was waiting in acp_complete for rank 0\n") !=
        std::string::npos);
  CHECK(text.find("ranks 3-4 were waiting in acp_reset\n") !=
        std::string::npos);
}

TEST_CASE("summary: ranks that wait for the dead rank do not name it again",
          "[launcher][summary]") {
  // Rank 3 waits for the dead rank, and rank 1 for rank 3.
  const std::vector<RankWait> waits = {{0, 0, "waiting in acp_sync", 2},
                                       {1, 1, "waiting in acp_sync", 3},
                                       {2, 2, "gone"},
                                       {3, 3, "waiting in acp_sync", 2},
                                       {4, 4, "waiting in acp_complete", 3}};
  const Verdict verdict{Cause::kSignaled, 2, 4242, SIGKILL, {}, {}};
  const std::string text = summarize(verdict, "h", waits);
  INFO(text);
  CHECK(text.find("ranks 0-1,3 were waiting in acp_sync\n") !=
        std::string::npos);
  CHECK(text.find("rank 4 was waiting in acp_complete for rank 3\n") !=
        std::string::npos);
}

TEST_CASE("summary: the dead rank is known by its present number",
          "[launcher][summary]") {
  const std::vector<RankWait> waits = {{0, 1, "gone"},
                                       {1, 0, "waiting in acp_sync", 1},
                                       {2, 2, "waiting in acp_complete", 0}};
  const Verdict verdict{Cause::kSignaled, 0, 4242, SIGKILL, {}, {}};
  const std::string text = summarize(verdict, "h", waits);
  INFO(text);
  CHECK(text.find("rank 0 was waiting in acp_sync\n") != std::string::npos);
  CHECK(text.find("rank 2 was waiting in acp_complete for rank 0\n") !=
        std::string::npos);
}

TEST_CASE("summary: text of several lines takes one", "[launcher][summary]") {
  const Verdict verdict{Cause::kAborted, 0, 7, 1, "first\nsecond\n", {}};
  const std::vector<RankWait> waits = {{0, 0, "computing"}};
  CHECK(summarize(verdict, "h", waits) ==
        "acprun: rank 0 on h (pid 7) ended the job: first second\n"
        "acprun: there was no other rank\n"
        "acprun: ended the job with status 1; see what rank 0 wrote above\n");
}

TEST_CASE("summary: where the words of the rank are", "[launcher][summary]") {
  const Verdict verdict{Cause::kExited, 1, 7, 2, {}, {}};
  const std::vector<RankWait> waits = {{0, 0, "computing"}, {1, 1, "gone"}};
  const auto last_of = [&](RankWords words) {
    const std::string text = summarize(verdict, "h", waits, "", words);
    return text.substr(text.rfind("; ") + 2);
  };
  CHECK(summarize(verdict, "h", waits).ends_with("rank 1 wrote above\n"));
  CHECK(last_of(RankWords::kNone) ==
        "with ACP_LOG=debug its calls of ACP appear\n");
  CHECK(summarize(verdict, "h", waits, "", RankWords::kNone)
            .find("rank 1 wrote nothing; ") != std::string::npos);
  CHECK(last_of(RankWords::kInFiles) ==
        "see rank.1.err and rank.1.out in --output-dir\n");
}

TEST_CASE("summary: after acp_reset the rank's present number comes first",
          "[launcher][summary]") {
  const Verdict verdict{Cause::kExited, 0, 7, 2, {}, {}};
  const std::vector<RankWait> waits = {{0, 1, "gone"}, {1, 0, "computing"}};
  CHECK(describe_end(verdict, "h", waits) ==
        "rank 1 (started as rank 0) on h (pid 7) exited with status 2");
}

TEST_CASE("summary: a signal of a limit names the limit",
          "[launcher][summary]") {
  const auto text_of = [](int signal) {
    return summarize({Cause::kSignaled, 0, 7, signal, {}, {}}, "h", {});
  };
  CHECK(text_of(SIGXFSZ).find("(ulimit -f)") != std::string::npos);
  CHECK(text_of(SIGXCPU).find("(ulimit -t)") != std::string::npos);
}

TEST_CASE("summary: no process for a rank", "[launcher][summary]") {
  const FailedStart failed = judge_failed_fork(EAGAIN);
  const Verdict verdict{
      Cause::kNotStarted,  3, 0, failed.status, failed.reason.text, {},
      failed.reason.advice};
  const std::string text = summarize(verdict, "h", {});
  CHECK(text.find("rank 3 on h (pid 0) could not be started: fork: Resource") !=
        std::string::npos);
  CHECK(text.find("ulimit -u") != std::string::npos);
}

TEST_CASE("summary: ends that are nobody's fault name no rank",
          "[launcher][summary]") {
  const Verdict verdict{Cause::kTimeout, kNoRank, 0, 1500, {}, {}};
  CHECK(describe_end(verdict, "h", {}) ==
        "the job ran longer than --timeout=1.5 on h");
}

TEST_CASE("summary: waits by kind", "[launcher][summary]") {
  using protocol::WaitKind;
  const auto text = [](WaitKind kind, const std::string& name = "") {
    return describe_wait(static_cast<std::uint32_t>(kind), name);
  };
  CHECK(text(WaitKind::kNothing).empty());
  CHECK(text(WaitKind::kSync) == "waiting in acp_sync");
  CHECK(text(WaitKind::kInit) == "in acp_init");
  CHECK(text(WaitKind::kCondition, "QMP_wait") == "waiting in QMP_wait");
}

TEST_CASE("summary: lists of ranks", "[launcher][summary]") {
  using Ranks = std::vector<std::uint32_t>;
  CHECK(describe_ranks(Ranks{3}) == "rank 3");
  CHECK(describe_ranks(Ranks{0, 2, 3}) == "ranks 0,2-3");
  CHECK(describe_ranks(Ranks{0, 1, 2, 5, 7, 8}) == "ranks 0-2,5,7-8");
  Ranks even;
  for (std::uint32_t i = 0; i < 100; i += 2)
    even.push_back(i);
  CHECK(describe_ranks(even) ==
        "ranks 0,2,4,6,8,10,12,14,16,18,20,22 and 38 more");
}

}  // namespace acp::launcher
