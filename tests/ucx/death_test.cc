// Ranks that die in jobs over UCX, at many moments. UCX reports a lost peer
// over TCP and reports nothing over shared memory; the job has to end soon in
// both.
#include "fault/death.h"

#include <csignal>
#include <string>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;

namespace {

/// The transport leaves the launcher 2 s. The rest is for UCX's own timers and
/// for machines that are busy.
constexpr auto kEndsWithin = 15s;

job::Outcome run_death(const std::string& moment) {
  const std::string tls = GENERATE("tcp,self", "posix,cma");
  INFO("moment " << moment << ", UCX_TLS=" << tls);
  job::Outcome outcome = death::run(
      moment, "kill",
      {"ACP_NET=ucx", "ACP_SHM=off", "UCX_NET_DEVICES=lo", "UCX_TLS=" + tls},
      kEndsWithin);
  CHECK(outcome.status == 128 + SIGKILL);
  return outcome;
}

}  // namespace

/// In before_others the peers make their UCP endpoints after the death.
TEST_CASE("ucx death: a rank that is killed in acp_init ends the job",
          "[ucx][death]") {
  const std::string moment =
      GENERATE("before_init", "in_init", "before_others");
  run_death(moment);
}

TEST_CASE("ucx death: a rank that is killed in a call ends the job",
          "[ucx][death]") {
  const std::string moment =
      GENERATE("computing", "in_sync", "in_copy", "in_wait", "in_channel",
               "in_malloc", "in_reset", "in_finalize");
  run_death(moment);
}

TEST_CASE("ucx death: a rank that is killed while peers use its memory",
          "[ucx][death]") {
  const std::string moment = GENERATE("is_read", "in_unregister");
  run_death(moment);
}

TEST_CASE("ucx death: a rank that is killed with a lock ends the job",
          "[ucx][death]") {
  const std::string moment =
      GENERATE("in_map", "map_locked", "in_deque", "deque_locked");
  run_death(moment);
}
