// The three lines that acprun prints when a job ends badly.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "launcher/verdict.h"
#include "launcher/waits.h"

namespace acp::launcher {

/// Pure. Three lines: who and why, what the others waited for, what was done
/// and what to do. Each ends with a newline.
std::string summarize(const Verdict& verdict,
                      std::string_view host,
                      std::span<const RankWait> waits);

/// One clause for the ranks themselves: "rank 1 was killed by signal 9 ...".
std::string describe_end(const Verdict& verdict,
                         std::string_view host,
                         std::span<const RankWait> waits);

}  // namespace acp::launcher
