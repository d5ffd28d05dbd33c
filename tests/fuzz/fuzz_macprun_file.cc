// Fuzz target: any bytes as an input file of macprun. A file that is accepted
// has a command and a count of processes for each runtime environment, each on
// a line that the file has. A refusal names such a line too, or the whole file.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <variant>
#include <vector>

#include "launcher/macprun_file.h"
#include "launcher/nodefile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size);

namespace {

using acp::launcher::MacprunFileError;
using acp::launcher::MacprunLine;

bool is_well_formed(const MacprunLine& line, std::size_t lines) {
  return !line.launcher.empty() && !line.command.empty() && line.procs > 0 &&
         line.procs <= acp::launcher::kMaxRanks && line.launcher_line > 0 &&
         line.launcher_line < line.command_line && line.command_line <= lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto lines =
      static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
  const auto parsed = acp::launcher::parse_macprun_file(text);
  if (const auto* error = std::get_if<MacprunFileError>(&parsed)) {
    if (error->text.empty() || error->line > lines) std::abort();
    return 0;
  }
  const auto& all = std::get<std::vector<MacprunLine>>(parsed);
  const bool is_good =
      !all.empty() && std::ranges::all_of(all, [&](const MacprunLine& line) {
        return is_well_formed(line, lines);
      });
  if (!is_good) std::abort();
  return 0;
}
