// The texts of status codes.
#include <string>

#include <catch2/catch.hpp>

#include "qmp.h"

TEST_CASE("QMP_error_string: QMP_BAD_MESSAGE is also said of global operations",
          "[qmp][error]") {
  const std::string text = QMP_error_string(QMP_BAD_MESSAGE);
  CHECK(text.find("longer than its receive") != std::string::npos);
  CHECK(text.find("global operation") != std::string::npos);
}
