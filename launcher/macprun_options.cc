// The options of macprun: the rows of acprun, except for rows about a single
// program. Called by main and by launcher_pages. It has no rows of its own, so
// an option means the same in both launchers.
#include "launcher/macprun_options.h"

#include <algorithm>
#include <array>
#include <vector>

#include "launcher/acprun_options.h"

namespace acp::launcher {

namespace {

std::vector<OptionRow> shared_rows() {
  constexpr std::array<std::string_view, 3> kOfOneProgram = {
      "--preload", "--wrap", "--wrap-ranks"};
  std::vector<OptionRow> rows;
  for (const OptionRow& row : acprun_rows()) {
    if (std::ranges::find(kOfOneProgram, row.name) == kOfOneProgram.end()) {
      rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace

const OptionTable& macprun_options() {
  static const std::vector<OptionRow> rows = shared_rows();
  static const OptionTable table = {"macprun", "[-np N] [options] inputfile",
                                    rows, "input file"};
  return table;
}

}  // namespace acp::launcher
