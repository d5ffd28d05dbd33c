// The --acp-* words on the command line of a program.
#pragma once

#include "settings/settings.h"

namespace acp::runtime {

/// Takes known --acp-NAME=VALUE words up to a literal "--" out of the
/// arguments and into `settings`. kBadOption for an unknown word, logged with
/// the nearest known one; nothing is removed then. Two null pointers are
/// allowed, one is kInvalidArgument.
[[nodiscard]] Status take_arguments(int* argc,
                                    char*** argv,
                                    Settings& settings);

}  // namespace acp::runtime
