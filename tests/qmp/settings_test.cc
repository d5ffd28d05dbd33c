// QMP's settings, with environments made for the test.
#include "qmp/settings.h"

#include <cstdlib>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

TEST_CASE("qmp settings: a mistyped QMP_ variable is found",
          "[qmp][settings]") {
  std::vector<std::string> entries{
      "QMP_WAIT_TIMOUT=5",  "QMP_GEOM=2 2", "QMP_LAYOUT=surface",
      "QMP_MEMORY=1M",      "QMP_DIR=/opt", "QMP_ROOT=/opt",
      "QMP_WAIT_TIMEOUT=5", "ACP_NET=udp",  "QMP_=",
      "NO_QMP_GEOM=1"};
  std::vector<char*> environment;
  for (std::string& entry : entries) {
    environment.push_back(entry.data());
  }
  environment.push_back(nullptr);
  CHECK(qmp::unknown_settings(environment.data()) ==
        std::vector<std::string>{"QMP_WAIT_TIMOUT", "QMP_"});
}

TEST_CASE("qmp settings: a number of bytes may end in K, M, G or T",
          "[qmp][settings]") {
  const auto read = [](const char* text) {
    ::setenv("QMP_MEMORY", text, 1);
    return qmp::number_setting("QMP_MEMORY", qmp::Unit::kBytes, 7, 1, 1e6);
  };
  CHECK(read("5") == 5);
  CHECK(read("3K") == 3072);
  CHECK(read("3k") == 3072);
  CHECK_FALSE(read("3Kb"));
  CHECK_FALSE(read("K"));
  CHECK_FALSE(read("2M"));
  ::unsetenv("QMP_MEMORY");
  CHECK(qmp::number_setting("QMP_MEMORY", qmp::Unit::kBytes, 7, 1, 9) == 7);
}
