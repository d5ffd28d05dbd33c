// The options of the specification: what each --acp-* word means.
#pragma once

#include <optional>
#include <span>

#include "launcher/option_words.h"
#include "launcher/options.h"

namespace acp::launcher {

/// Takes the words, in order, into `options`, whose settings hold the
/// environment's values; checks the network that results. Nothing on success.
std::optional<EarlyExit> take_acp_words(std::span<const AcpWord> words,
                                        Options& options);

}  // namespace acp::launcher
