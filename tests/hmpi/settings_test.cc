// The settings of HMPI: their defaults, and the texts that users are told.
#include "hmpi/settings.h"

#include <cstdlib>
#include <string>

#include <catch2/catch.hpp>

#include "hmpi/settings_table.h"

namespace hmpi {

TEST_CASE("hmpi settings: the table has the names and the defaults",
          "[hmpi][settings]") {
  std::string mistake;
  for (const SettingRow& row : kSettingRows) {
    INFO(row.name);
    ::setenv(row.name, std::string(row.default_value).c_str(), 1);
    CHECK(read_settings(mistake) == Settings());
    CHECK(mistake.empty());
    ::setenv(row.name, "17", 1);
    CHECK_FALSE((read_settings(mistake) == Settings() && mistake.empty()));
    mistake.clear();
    ::unsetenv(row.name);
  }
}

TEST_CASE("hmpi settings: what is no value is named", "[hmpi][settings]") {
  std::string mistake;
  ::setenv("HMPI_POOL", "12Q", 1);
  (void)read_settings(mistake);
  ::unsetenv("HMPI_POOL");
  CHECK(mistake.find("HMPI_POOL=12Q") != std::string::npos);
}

}  // namespace hmpi
