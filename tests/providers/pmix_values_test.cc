// Values that the launcher's PMIx server does not give as a rank has put them,
// and an abort without an answer. The client of PMIx is over a libpmix of this
// test.
#include <pmix.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <latch>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "runtime/pmix/pmix_client.h"
#include "support/stderr_capture.h"

namespace {

/// The answer of the fake server to a request for a value of a rank.
struct Answer {
  pmix_status_t status = PMIX_SUCCESS;
  pmix_data_type_t type = PMIX_STRING;
  std::size_t characters = 0;
  bool comes = true;
};

Answer g_answer;
/// PMIx_Abort of the fake server returns when this is down.
std::latch g_abort_returns{1};

constexpr pmix_rank_t kRanks = 4;

pmix_value_t* make_value(pmix_data_type_t type) {
  // PMIX_VALUE_RELEASE frees it.
  auto* value =
      static_cast<pmix_value_t*>(std::calloc(1, sizeof(pmix_value_t)));
  value->type = type;
  return value;
}

}  // namespace

// --- libpmix -----------------------------------------------------------------

extern "C" {

pmix_status_t PMIx_Init(pmix_proc_t* self, pmix_info_t[], std::size_t) {
  self->rank = 0;
  return PMIX_SUCCESS;
}

pmix_status_t PMIx_Finalize(const pmix_info_t[], std::size_t) {
  return PMIX_SUCCESS;
}

pmix_status_t PMIx_Abort(int, const char[], pmix_proc_t[], std::size_t) {
  g_abort_returns.wait();
  return PMIX_SUCCESS;
}

pmix_status_t PMIx_Register_event_handler(pmix_status_t[],
                                          std::size_t,
                                          pmix_info_t[],
                                          std::size_t,
                                          pmix_notification_fn_t,
                                          pmix_hdlr_reg_cbfunc_t,
                                          void*) {
  return PMIX_SUCCESS;
}

pmix_status_t PMIx_Get(const pmix_proc_t*,
                       const char key[],
                       const pmix_info_t[],
                       std::size_t,
                       pmix_value_t** value) {
  if (std::strcmp(key, PMIX_JOB_SIZE) != 0) {
    return PMIX_ERR_NOT_FOUND;
  }
  *value = make_value(PMIX_UINT32);
  (*value)->data.uint32 = kRanks;
  return PMIX_SUCCESS;
}

/// The value belongs to libpmix, and is gone after the callback.
pmix_status_t PMIx_Get_nb(const pmix_proc_t*,
                          const char[],
                          const pmix_info_t[],
                          std::size_t,
                          pmix_value_cbfunc_t done,
                          void* argument) {
  if (!g_answer.comes) {
    return PMIX_SUCCESS;
  }
  if (g_answer.status != PMIX_SUCCESS) {
    done(g_answer.status, nullptr, argument);
    return PMIX_SUCCESS;
  }
  pmix_value_t* value = make_value(g_answer.type);
  if (g_answer.type == PMIX_STRING) {
    value->data.string =
        ::strdup(std::string(g_answer.characters, 'A').c_str());
  }
  done(PMIX_SUCCESS, value, argument);
  PMIX_VALUE_RELEASE(value);
  return PMIX_SUCCESS;
}

}  // extern "C"

namespace acp::runtime {

namespace {

/// Asks for value acp-host-2-0 of rank 2. Returns its length, or 0 and the text
/// of the log.
std::pair<std::size_t, std::string> ask(const Answer& answer,
                                        TimePoint deadline) {
  auto client = connect_by_pmix({.deadline = TimePoint::max()});
  REQUIRE(client.ok());
  g_answer = answer;
  spmd::StderrCapture capture;
  const auto value = (*client)->get(2, "acp-host-2-0", {.deadline = deadline});
  return {value.ok() ? value->size() : 0, capture.stop()};
}

}  // namespace

// Each answer is bad in one way. A value of the largest size is good, and one
// character more is not.
TEST_CASE("pmix: a failed request names the value, its rank and the cause",
          "[pmix]") {
  struct Case {
    Answer answer;
    const char* cause = nullptr;
  };

  const Case cases[] = {
      {{.status = PMIX_ERR_NOT_FOUND}, "NOT-FOUND"},
      {{.status = PMIX_ERR_TIMEOUT}, "TIMEOUT"},
      {{.type = PMIX_UINT32}, "PMIx type"},
      {{.characters = 65'536},
       "65536 characters, and a rank puts 65535 at most"},
  };
  for (const Case& each : cases) {
    const auto [size, text] = ask(each.answer, TimePoint::max());
    INFO(text);
    CHECK(size == 0);
    CHECK(text.find("PMIx_Get of acp-host-2-0 of rank 2") != text.npos);
    CHECK(text.find(each.cause) != text.npos);
  }
  CHECK(ask({.characters = 65'535}, TimePoint::max()).first == 65'535);
}

/// The process ends by itself, because no call of libpmix can be given up.
TEST_CASE(
    "pmix: a server without an answer ends the rank, which names the value",
    "[pmix]") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::alarm(60);
    g_answer = {.comes = false};
    auto client = connect_by_pmix({.deadline = TimePoint::max()});
    (void)(*client)->get(
        2, "acp-host-2-0",
        {.deadline = SteadyClock().now() + std::chrono::milliseconds(50)});
    ::_exit(1);
  }
  ::close(ends[1]);
  std::string text;
  std::array<char, 512> buffer{};
  for (ssize_t n = 0;
       (n = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  INFO(text);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 124);
  CHECK(text.find("PMIx_Get of acp-host-2-0 of rank 2") != text.npos);
  CHECK(text.find("ACP_INIT_TIMEOUT") != text.npos);
}

/// The thread that ends a rank of a lost host makes the abort first.
TEST_CASE("pmix: an abort does not wait for a server without an answer",
          "[pmix]") {
  auto client = connect_by_pmix({.deadline = TimePoint::max()});
  REQUIRE(client.ok());
  const TimePoint begin = SteadyClock().now();
  (*client)->abort(1, "the job ends");
  CHECK(SteadyClock().now() - begin >= std::chrono::seconds(1));
  g_abort_returns.count_down();
}

}  // namespace acp::runtime
