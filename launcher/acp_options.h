// The options of the specification: what each --acp-* word means.
#pragma once

#include <optional>
#include <span>

#include "launcher/option_words.h"
#include "launcher/options.h"

namespace acp::launcher {

/// Takes the words, in order, into `options`, whose settings hold the
/// environment's values. Nothing on success.
std::optional<EarlyExit> take_acp_words(std::span<const AcpWord> words,
                                        Options& options);

/// Refuses a network that this build does not have.
std::optional<EarlyExit> check_net(const Settings& settings);

}  // namespace acp::launcher
