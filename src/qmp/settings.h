// QMP's settings in the environment. QMP_GEOM and QMP_LAYOUT are read in
// options.cc, the numbers here. Called by QMP_init_msg_passing alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace qmp {

/// A setting of bytes may end in K, M, G or T.
enum class Unit { kSeconds, kBytes };

/// The number that the environment variable `name` holds, from `least` to
/// `most`; `missing` when the variable is not set. Nothing, and a failure with
/// a line, when the text is no such number.
std::optional<double> number_setting(
    const char* name, Unit unit, double missing, double least, double most);

/// The variables of `environment` that begin with QMP_ and that nothing reads.
/// `environment` ends in a null pointer, as environ does.
std::vector<std::string> unknown_settings(char* const* environment);

/// Prints one warning for each unknown setting of this process.
void warn_of_unknown_settings();

}  // namespace qmp
