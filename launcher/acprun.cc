// acprun's main: options, plan, then the job. Users and batch scripts run it.
// It also runs as the daemon of an acprun on another host, as the seat of a
// rank whose process another launcher starts, and as that process's join
// command. It decides nothing itself; docs/launcher.md explains the whole.
#include <unistd.h>

#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "launcher/acprun_options.h"
#include "launcher/join.h"
#include "launcher/launcher_main.h"
#include "launcher/options.h"
#include "launcher/program_name.h"
#include "launcher/seat.h"

using namespace acp::launcher;  // NOLINT: this file is the program

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string first = words.empty() ? "" : words.front();
  const auto lookup = [](const char* name) {
    return std::getenv(name);
  };
  // These two inherit descriptors that they pass on.
  if (first == kJoinOption)
    return run_join(std::span(words).subspan(1), lookup);
  if (const auto seat = parse_seat(words)) return run_seat(*seat, lookup);
  set_program_name("acprun");
  tidy_descriptors();
  if (first == "--daemon" && words.size() == 1) return be_daemon();
  auto options = parse_options(acprun_options(), words, lookup);
  if (const auto* exit = std::get_if<EarlyExit>(&options)) return leave(*exit);
  auto plan = make_plan(std::move(std::get<Options>(options)), environ, lookup);
  if (const auto* exit = std::get_if<EarlyExit>(&plan)) return leave(*exit);
  return run_plan(std::get<JobPlan>(plan));
}
