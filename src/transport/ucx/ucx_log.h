// The level of UCX's own log during a few calls.
#pragma once

#include <array>

#include <ucs/config/global_opts.h>

namespace acp::ucx {

/// Gives UCX's log a level for as long as the object lives. The level is the
/// process's, so keep the object for a few calls only.
class UcxLogLevel {
 public:
  explicit UcxLogLevel(const char* level) {
    ucs_global_opts_get_value("LOG_LEVEL", before_.data(), before_.size());
    ucs_global_opts_set_value("LOG_LEVEL", level);
  }

  UcxLogLevel(const UcxLogLevel&) = delete;
  UcxLogLevel& operator=(const UcxLogLevel&) = delete;

  ~UcxLogLevel() { ucs_global_opts_set_value("LOG_LEVEL", before_.data()); }

 private:
  std::array<char, 64> before_{};
};

}  // namespace acp::ucx
