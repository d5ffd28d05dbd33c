// Writes the pages that come from acprun's table of options while the project
// is built, which alone runs it. It is not installed, and may write no file but
// OUT.
//
//   launcher_pages completion NAME OUT   the bash completion of this launcher
//   launcher_pages man PAGE.md OUT       a page of docs/man for man(1)
//   launcher_pages markdown PAGE.md OUT  the page with the table's options;
//                                        OUT may be PAGE.md itself
#include <fmt/core.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "launcher/acprun_options.h"
#include "launcher/macprun_options.h"
#include "launcher/man_page.h"
#include "launcher/option_pages.h"

namespace {

using namespace acp::launcher;  // NOLINT: this file is the program

/// The table of the launcher with this name; acprun's for any other name.
const OptionTable& table_of(std::string_view name) {
  return name == "macprun" ? macprun_options() : acprun_options();
}

/// The page with the options of its launcher. Pages of other programs have no
/// lines that mark them, and stay as they are.
std::string with_options(std::string_view file,
                         const std::string& page,
                         ManualScope scope) {
  const std::string_view name = file.substr(file.rfind('/') + 1);
  return replace_options(
      page,
      options_in_markdown(table_of(name.substr(0, name.find('.'))), scope));
}

int fail(std::string_view text) {
  fmt::print(stderr, "launcher_pages: {}\n", text);
  return 1;
}

int write(const char* name, std::string_view text) {
  std::ofstream file(name);
  file << text;
  file.close();
  return file ? 0 : fail(fmt::format("cannot write {}", name));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "completion" && argc == 4) {
    return write(argv[3], bash_completion(table_of(argv[2])));
  }
  if ((what != "man" && what != "markdown") || argc != 4) {
    return fail("completion NAME OUT, man PAGE.md OUT or markdown PAGE.md OUT");
  }
  std::ifstream file(argv[2]);
  if (!file) return fail(fmt::format("cannot read {}", argv[2]));
  const std::string page(std::istreambuf_iterator<char>(file), {});
  if (what == "markdown") {
    return write(argv[3],
                 with_options(argv[2], page, ManualScope::kEveryBuild));
  }
  return write(argv[3],
               man_page(with_options(argv[2], page, ManualScope::kThisBuild),
                        ACP_VERSION));
}
