// Turns lines of the input file into groups of ranks. Called by macprun before
// the plan of the job is made. Starts no process.
#include "launcher/macprun_plan.h"

#include <fmt/core.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/log.h"
#include "launcher/acprun_options.h"
#include "launcher/nodefile.h"
#include "launcher/option_parser.h"
#include "launcher/rank_hosts.h"
#include "launcher/read_file.h"
#include "launcher/seat.h"
#include "launcher/words.h"

namespace acp::launcher {

namespace {

std::string file_part(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_acprun(const MacprunLine& line) {
  return file_part(line.launcher.front()) == "acprun";
}

/// Launchers that give each process its number in a variable that the join
/// command reads. Installations add suffixes, as in "mpirun.openmpi".
bool is_known_launcher(const std::string& path) {
  constexpr std::array<std::string_view, 6> kNames = {
      "mpirun", "mpiexec", "orterun", "prterun", "hydra", "srun"};
  const std::string name = file_part(path);
  return std::ranges::any_of(kNames, [&name](std::string_view known) {
    return name.starts_with(known);
  });
}

EarlyExit wrong_line(const MacprunJob& job,
                     std::size_t line,
                     std::string_view text) {
  return launcher_error(fmt::format("{}, line {}: {}", job.file, line, text));
}

/// "-n", "-n2", "--np=2", "--ntasks 2". With srun, "-c" counts processors.
bool is_count(const std::string& word, bool is_srun) {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t begin = std::min(word.find_first_not_of('-'), word.size());
  if (begin == 0 || begin > 2) return false;
  std::string_view name = word;
  name.remove_prefix(begin);
  name = name.substr(0, name.find('='));
  if (begin == 1 && name != "n") {
    const std::size_t end = name.find_last_not_of(kDigits);
    name = name.substr(0, end + 1);
  }
  return name == "n" || name == "np" || name == "ntasks" ||
         (name == "c" && !is_srun);
}

/// A count of processes belongs into the third part of the file.
std::optional<std::string> find_count(const std::vector<std::string>& words) {
  const bool is_srun = file_part(words.front()).starts_with("srun");
  for (const std::string& word : std::span(words).subspan(1)) {
    if (is_count(word, is_srun)) return word;
  }
  return std::nullopt;
}

/// Raises a size of the whole job to the size of a line.
std::optional<EarlyExit> raise(SettingId id,
                               const Settings& asked,
                               Options& options) {
  if (asked.number(id) <= options.settings.number(id)) return std::nullopt;
  if (options.settings.set(id, asked.text(id), SettingSource::kOption) !=
      Status::kOk) {
    return launcher_error("");
  }
  options.setting_variables.push_back(fmt::format(
      "{}={}", settings_table()[static_cast<int>(id)].name, asked.text(id)));
  return std::nullopt;
}

/// Takes the options of a line like "acprun -smemsize 10240". Variables and
/// directory hold for its ranks; sizes hold for the job; everything else is
/// macprun's own.
std::optional<EarlyExit> take_acprun_line(MacprunJob& job,
                                          std::size_t index,
                                          const Settings::Lookup& lookup,
                                          Options& options) {
  constexpr std::array<std::string_view, 5> kAllowed = {
      "--acp-startermemsize", "--acp-heapsize", "--acp-startermemsize-dl",
      "--env", "--wdir"};
  const MacprunLine& line = job.lines[index];
  auto words =
      parse_words(acprun_options(), std::span(line.launcher).subspan(1));
  if (const auto* exit = std::get_if<EarlyExit>(&words)) {
    return wrong_line(job, line.launcher_line, exit->text);
  }
  const auto& parsed = std::get<ParsedWords>(words);
  if (!parsed.command.empty()) {
    return wrong_line(job, line.launcher_line,
                      fmt::format("'{}': only options of acprun stand here; "
                                  "the command goes into the file's last part",
                                  parsed.command.front()));
  }
  for (const GivenOption& given : parsed.options) {
    if (std::ranges::find(kAllowed, given.row->name) == kAllowed.end()) {
      return wrong_line(
          job, line.launcher_line,
          fmt::format("'{}' is for the whole job: give it to macprun; a line "
                      "of acprun takes -smemsize, --acp-heapsize, --env and "
                      "--wdir",
                      given.word));
    }
  }
  Options own;
  auto settings = Settings::from_environment(lookup);
  if (!settings.ok()) return launcher_error("");
  own.settings = std::move(*settings);
  if (auto exit = take_values(parsed, own)) {
    // The settings have logged what is wrong with the value of one.
    return wrong_line(job, line.launcher_line,
                      exit->text.empty() ? "correct this value" : exit->text);
  }
  for (const SettingId id : {SettingId::kStarterMemory, SettingId::kHeapSize}) {
    if (auto exit = raise(id, own.settings, options)) return exit;
  }
  job.settings[index] = std::move(own.environment);
  job.directories[index] = std::move(own.directory);
  return std::nullopt;
}

/// The count is looked for first, because every launcher spells it as acprun
/// does.
std::optional<EarlyExit> check_line(MacprunJob& job,
                                    std::size_t index,
                                    const Settings::Lookup& lookup,
                                    Options& options) {
  const MacprunLine& line = job.lines[index];
  const std::string& launcher = line.launcher.front();
  if (const auto count = find_count(line.launcher)) {
    return wrong_line(job, line.launcher_line,
                      fmt::format("'{}': the number of processes stands in the "
                                  "file's third part; leave it out here",
                                  *count));
  }
  if (is_acprun(line)) return take_acprun_line(job, index, lookup, options);
  if (is_known_launcher(launcher)) return std::nullopt;
  return wrong_line(job, line.launcher_line,
                    fmt::format("'{}' is no launcher that macprun knows; write "
                                "acprun, mpirun, mpiexec or srun, with options "
                                "behind it",
                                launcher));
}

/// "host:2,other:1", in the order of the ranks.
std::string hosts_of(const std::vector<HostRanks>& hosts,
                     std::uint32_t first,
                     std::uint32_t count) {
  const RankHosts host_numbers(hosts);
  std::vector<std::pair<const std::string*, std::uint32_t>> runs;
  for (std::uint32_t rank = first; rank < first + count; ++rank) {
    const std::string& name = hosts[host_numbers.of(rank)].name;
    if (runs.empty() || runs.back().first != &name) runs.emplace_back(&name, 0);
    ++runs.back().second;
  }
  std::string text;
  for (const auto& [name, ranks] : runs) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", *name, ranks);
  }
  return text;
}

std::string names_of(const std::vector<std::string>& variables) {
  std::string names;
  for (const std::string& entry : variables) {
    names += names.empty() ? "" : ",";
    names += name_in(entry);
  }
  return names;
}

std::string random_token() {
  std::array<std::uint64_t, 2> bits{};
  while (::getrandom(bits.data(), sizeof bits, 0) !=
         static_cast<ssize_t>(sizeof bits)) {
  }
  return fmt::format("{:016x}{:016x}", bits[0], bits[1]);
}

}  // namespace

/// The number of ranks is checked last, because a wrong line explains a wrong
/// sum.
OrExit<MacprunJob> read_macprun_job(Options& options,
                                    const Settings::Lookup& lookup) {
  MacprunJob job;
  job.file = options.command.front();
  if (options.command.size() > 1) {
    return launcher_error(
        fmt::format("'{}' behind the input file {}: the programs and "
                    "their arguments stand in the file",
                    options.command[1], job.file));
  }
  auto text = read_file("input file", job.file);
  if (auto* exit = std::get_if<EarlyExit>(&text)) return std::move(*exit);
  auto parsed = parse_macprun_file(std::get<std::string>(text));
  if (const auto* wrong = std::get_if<MacprunFileError>(&parsed)) {
    return wrong->line == 0
               ? launcher_error(fmt::format("{}: {}", job.file, wrong->text))
               : wrong_line(job, wrong->line, wrong->text);
  }
  job.lines = std::move(std::get<std::vector<MacprunLine>>(parsed));
  job.settings.resize(job.lines.size());
  job.directories.resize(job.lines.size());
  std::uint64_t procs = 0;
  std::string sum;
  for (std::size_t i = 0; i < job.lines.size(); ++i) {
    if (auto exit = check_line(job, i, lookup, options)) {
      return std::move(*exit);
    }
    procs += job.lines[i].procs;
    sum += fmt::format("{}{}", i == 0 ? "" : " + ", job.lines[i].procs);
  }
  if (procs > kMaxRanks || (options.procs != 0 && options.procs != procs)) {
    return launcher_error(fmt::format(
        "{}: its counts are {} = {} processes, {}", job.file, sum, procs,
        procs > kMaxRanks
            ? fmt::format("and a job has at most {}", kMaxRanks)
            : fmt::format("but -np is {}; write -np {}, or leave it out",
                          options.procs, procs)));
  }
  options.procs = static_cast<std::uint32_t>(procs);
  return job;
}

/// Seats carry all words of mpirun, because the first seat starts mpirun, on
/// the host of the first rank.
MakeGroups groups_of(const MacprunJob& job, const Options& options) {
  return [&job, variables = names_of(options.environment),
          limit = options.init_timeout](const std::vector<HostRanks>& hosts,
                                        const std::string& acprun) {
    const std::string token = random_token();
    std::vector<CommandGroup> groups;
    std::uint32_t first = 0;
    for (std::size_t i = 0; i < job.lines.size(); ++i) {
      const MacprunLine& line = job.lines[i];
      CommandGroup group;
      group.first = first;
      group.name = fmt::format("line {}, {}", line.launcher_line,
                               file_part(line.launcher.front()));
      if (is_acprun(line)) {
        group.command = line.command;
        group.settings = job.settings[i];
        group.directory = job.directories[i];
      } else {
        const SeatOrders seat{
            token,         first,
            line.procs,    static_cast<std::uint32_t>(limit.count()),
            group.name,    hosts_of(hosts, first, line.procs),
            variables,     acprun,
            line.launcher, line.command};
        group.is_foreign = true;
        group.command = words_of_seat(seat);
        group.command.insert(group.command.begin(), acprun);
      }
      first += line.procs;
      groups.push_back(std::move(group));
    }
    return groups;
  };
}

}  // namespace acp::launcher
