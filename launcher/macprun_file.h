// Reads the input file of macprun (specification, appendix A.4). The file says
// how many runtime environments there are. Then it has a line for each, a count
// of processes for each, and a command for each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace acp::launcher {

/// One runtime environment with its command. Plain value.
struct MacprunLine {
  std::vector<std::string> launcher;  ///< "acprun", "mpirun", ...; its options.
  std::uint32_t procs = 0;            ///< 1 .. kMaxRanks.
  std::vector<std::string> command;   ///< Program and arguments.
  std::size_t launcher_line = 0;      ///< Lines of the file, counted from 1.
  std::size_t command_line = 0;
};

struct MacprunFileError {
  std::size_t line = 0;  ///< 0: the file as a whole.
  std::string text;      ///< The mistake, and its correction.
};

/// Parses the text of an input file; any bytes are allowed. `#` begins a
/// comment, except within quotes or within a word. Words are split as a shell
/// does, with quotes and backslashes. Empty lines, and lines of dashes as in
/// the specification's example, do not count. Pure.
std::variant<std::vector<MacprunLine>, MacprunFileError> parse_macprun_file(
    std::string_view text);

}  // namespace acp::launcher
