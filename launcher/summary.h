// The lines that acprun prints when a job ends badly.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "launcher/verdict.h"
#include "launcher/waits.h"

namespace acp::launcher {

/// Pure. One line says who failed and why, up to three what the other ranks did
/// (the roll-call), and one what acprun did and what to do now. Each ends with
/// a newline.
std::string summarize(const Verdict& verdict,
                      std::string_view host,
                      std::span<const RankWait> waits);

/// One clause for the ranks themselves: "rank 1 was killed by signal 9 ...".
std::string describe_end(const Verdict& verdict,
                         std::string_view host,
                         std::span<const RankWait> waits);

}  // namespace acp::launcher
