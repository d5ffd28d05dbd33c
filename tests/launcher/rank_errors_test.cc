// The last line of acprun about errors that a program has not looked at.
#include "launcher/rank_errors.h"

#include <catch2/catch.hpp>

using acp::launcher::RankErrors;

TEST_CASE("rank errors: a job without any has no line", "[rank_errors]") {
  RankErrors errors;
  errors.note(0, 0);
  errors.note(1, -1);
  errors.note(2, std::int64_t{1} << 32);
  CHECK(errors.line(true).empty());
  CHECK(errors.status(true) == 0);
}

TEST_CASE("rank errors: one rank with one, and several with more",
          "[rank_errors]") {
  RankErrors errors;
  errors.note(4, 1);
  CHECK(errors.line(false).find("status 0, and rank 4 has reported 1 error;") !=
        std::string::npos);
  errors.note(2, 6);
  errors.note(3, UINT32_MAX);
  CHECK(errors.line(true).find("status 1 (ACP_ERRORS=fail), and ranks 2-4 have "
                               "reported 4294967302 errors;") !=
        std::string::npos);
  CHECK(errors.status(false) == 0);
  CHECK(errors.status(true) == 1);
}
