// After a line of level error the launcher learns of it, and the job ends if
// ACP_ERRORS asks for that.
#pragma once

#include <string_view>

namespace acp::api {

/// Takes a value of ACP_ERRORS. With "abort", from now on a line of level error
/// ends the job, also before acp_init and after acp_finalize. Thread-safe.
void follow_errors(std::string_view value);

}  // namespace acp::api
