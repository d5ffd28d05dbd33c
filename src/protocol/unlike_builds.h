// Names the files of launcher and library, for the line about unlike versions.
#pragma once

#include <string>

namespace acp::protocol {

/// The file that has this code: libacp.so, or a program that is linked with
/// libacp.a. "" when the linker does not tell.
std::string file_of_library();

/// The program file of the launcher: acprun or macprun, the nearest of the
/// processes above this one. "" when there is none, or its file cannot be read.
std::string file_of_launcher();

/// "/usr/bin/acprun has made the host segment, and /lib/libacp.so cannot use
/// it", with the files as far as they are known.
std::string describe_unlike_builds();

}  // namespace acp::protocol
