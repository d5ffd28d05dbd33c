// acprun's table of options.
#pragma once

#include "launcher/option_table.h"

namespace acp::launcher {

const OptionTable& acprun_options();

/// The rows of that table, for tables that share some.
std::span<const OptionRow> acprun_rows();

}  // namespace acp::launcher
