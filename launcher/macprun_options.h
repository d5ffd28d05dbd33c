// macprun's table of options.
#pragma once

#include "launcher/option_table.h"

namespace acp::launcher {

const OptionTable& macprun_options();

}  // namespace acp::launcher
