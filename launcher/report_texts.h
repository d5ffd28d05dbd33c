// The texts of report_page/, which the build puts into the program.
#pragma once

#include <string_view>

namespace acp::launcher {

extern const std::string_view kPageText;    ///< report.html
extern const std::string_view kStyleText;   ///< report.css
extern const std::string_view kScriptText;  ///< report.js

}  // namespace acp::launcher
