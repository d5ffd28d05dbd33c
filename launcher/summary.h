// Makes the lines that acprun prints when a job ends badly.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "launcher/verdict.h"
#include "launcher/waits.h"

namespace acp::launcher {

/// Where a reader of the summary finds the output of the rank that failed.
enum class RankWords : std::uint8_t {
  kAbove,    ///< In front of the summary, if the rank wrote any.
  kNone,     ///< The rank wrote nothing.
  kInFiles,  ///< In the files of --output-dir.
};

/// The first line says which rank failed and why. Up to five lines say what
/// the other ranks did. Then comes `traffic`, a line or nothing. The last line
/// says what acprun did and what the user can do. Each ends with a newline.
/// `host` is that of the rank or process that the verdict names; "": all hosts.
/// `words` tells where that rank's output is.
/// Pure.
std::string summarize(const Verdict& verdict,
                      std::string_view host,
                      std::span<const RankWait> waits,
                      std::string_view traffic = "",
                      RankWords words = RankWords::kAbove);

/// Returns the lines about a job that stands still and is let go on, with a
/// verdict of the watchdog.
std::string describe_hang(const Verdict& verdict,
                          std::span<const RankWait> waits);

/// Returns one clause for the ranks themselves: "rank 1 was killed by signal 9
/// ...".
std::string describe_end(const Verdict& verdict,
                         std::string_view host,
                         std::span<const RankWait> waits);

}  // namespace acp::launcher
