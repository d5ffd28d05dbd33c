// The rows of acprun's options, and the functions that take values which need
// more than their form. Called by acprun, macprun and launcher_pages. No other
// file may take the value of an option by its name. options.cc only asks
// whether --help, --version or --acp-nprocs was given, the files of macprun
// which options they leave out, and messages advise options.
#include "launcher/acprun_options.h"

#include <fmt/core.h>

#include <array>
#include <charconv>

#include "base/byte_count.h"
#include "base/log.h"
#include "launcher/nodefile.h"
#include "settings/networks.h"

namespace acp::launcher {

namespace {

using Group = OptionGroup;
using Kind = OptionKind;

EarlyExit error(std::string text) {
  return {kStatusLauncher, std::move(text)};
}

/// Gives acprun and the ranks a setting, once.
std::optional<EarlyExit> set_for_ranks(Options& options,
                                       SettingId id,
                                       const std::string& value) {
  if (options.settings.text(id) == value) {
    return std::nullopt;
  }
  if (options.settings.set(id, value, SettingSource::kOption) != Status::kOk) {
    return error("");
  }
  options.setting_variables.push_back(fmt::format(
      "{}={}", settings_table()[static_cast<std::size_t>(id)].name, value));
  return std::nullopt;
}

std::optional<EarlyExit> take_procs(const std::string& value,
                                    Options& options) {
  std::uint32_t procs = 0;
  const char* end = value.data() + value.size();
  const auto [rest, failure] = std::from_chars(value.data(), end, procs);
  if (failure != std::errc{} || rest != end || procs == 0 ||
      procs > kMaxRanks) {
    return error(fmt::format("-np {}: must be a number of ranks from 1 to {}",
                             value, kMaxRanks));
  }
  if (options.procs != 0 && options.procs != procs) {
    return error(
        fmt::format("-np is given twice, as {} and {}", options.procs, procs));
  }
  options.procs = procs;
  return std::nullopt;
}

/// A second node file is often a network that was meant for --acp-envnet.
std::optional<EarlyExit> take_nodefile(const std::string& value,
                                       Options& options) {
  if (options.nodefile && *options.nodefile != value) {
    const auto& nets = settings_table()[static_cast<int>(SettingId::kNet)];
    const bool is_net = ("|" + std::string(nets.choices) + "|")
                            .find("|" + std::string(network_name(value)) +
                                  "|") != std::string::npos;
    return error(fmt::format(
        "a second --acp-nodefile={}{}", value,
        is_net ? "; did you mean --acp-envnet=" + value + "?"
               : ": there can be one, and " + *options.nodefile + " is it"));
  }
  options.nodefile = value;
  return std::nullopt;
}

/// The ranks count for any of the forms.
std::optional<EarlyExit> take_stats(const std::string& value,
                                    Options& options) {
  constexpr std::string_view kJson = "json:";
  if (value.empty()) {
    options.stats = true;
  } else if (value.starts_with(kJson) && value.size() > kJson.size()) {
    options.stats_file = value.substr(kJson.size());
  } else {
    return error(fmt::format(
        "--stats={}: must be json:FILE, or without a value", value));
  }
  return set_for_ranks(options, SettingId::kCounters, "1");
}

/// Turns on the checks that a program needs while it is written.
std::optional<EarlyExit> take_debug(const std::string& /*value*/,
                                    Options& options) {
  options.hang_notice = std::chrono::seconds(10);
  auto failed = set_for_ranks(options, SettingId::kErrors, "abort");
  return failed ? failed
                : set_for_ranks(options, SettingId::kMallocDebug, "on");
}

std::optional<EarlyExit> take_report(const std::string& value,
                                     Options& options) {
  options.report_page = value;
  return set_for_ranks(options, SettingId::kCounters, "1");
}

/// Older scripts size the data library's starter memory for the older library.
/// This library has the heap instead, which must not get smaller than its
/// default.
std::optional<EarlyExit> take_old_heap_size(const std::string& value,
                                            Options& options) {
  const auto bytes = parse_bytes(value);
  if (!bytes) {
    return error(fmt::format(
        "--acp-startermemsize-dl={}: must be a number of bytes", value));
  }
  if (*bytes <= options.settings.number(SettingId::kHeapSize)) {
    return std::nullopt;
  }
  if (options.settings.set(SettingId::kHeapSize, value,
                           SettingSource::kOption) != Status::kOk) {
    return error("");
  }
  options.setting_variables.push_back(fmt::format(
      "ACP_HEAP_SIZE={}", options.settings.text(SettingId::kHeapSize)));
  return std::nullopt;
}

/// The library of channels had starter memory of its own. This library's
/// channels have their buffers in memory that acp_init takes anyway.
std::optional<EarlyExit> take_old_channel_size(const std::string& value,
                                               Options& /*options*/) {
  if (!parse_bytes(value)) {
    return error(fmt::format(
        "--acp-startermemsize-cl={}: must be a number of bytes", value));
  }
  log_warning(
      "--acp-startermemsize-cl={} has no effect: channels need no starter "
      "memory here; ACP_CH_BUFFER is the bytes of each channel's buffer",
      value);
  return std::nullopt;
}

std::optional<EarlyExit> take_binding(const std::string& value,
                                      Options& options) {
  using Name = std::pair<std::string_view, Binding>;
  for (const auto& [name, binding] :
       {Name{"auto", Binding::kAuto}, Name{"none", Binding::kNone},
        Name{"core", Binding::kCore}, Name{"numa", Binding::kNuma},
        Name{"hwthread", Binding::kHwThread}}) {
    if (name == value) options.binding = binding;
  }
  return std::nullopt;
}

std::optional<EarlyExit> take_stdin(const std::string& value,
                                    Options& options) {
  options.reads_stdin = value == "0";
  return std::nullopt;
}

std::optional<EarlyExit> take_wrap(const std::string& value, Options& options) {
  auto wrap = split_command(value);
  if (!wrap) {
    return error(fmt::format("--wrap={}: a quote is not closed", value));
  }
  options.wrap = std::move(*wrap);
  return std::nullopt;
}

std::optional<EarlyExit> take_wrap_ranks(const std::string& value,
                                         Options& options) {
  options.wrap_ranks = RankSet::parse(value);
  options.wrap_rank_list = value;
  return std::nullopt;
}

std::optional<EarlyExit> take_rsh(const std::string& value, Options& options) {
  auto words = split_command(value);
  if (!words || words->empty()) {
    return error(fmt::format("--rsh={}: must be a command", value));
  }
  options.rsh = std::move(*words);
  return std::nullopt;
}

std::optional<EarlyExit> take_fan_out(const std::string& value,
                                      Options& options) {
  const char* end = value.data() + value.size();
  const auto [rest, failure] =
      std::from_chars(value.data(), end, options.fan_out);
  if (failure != std::errc{} || rest != end || options.fan_out == 0 ||
      options.fan_out > kMaxRanks) {
    return error(fmt::format("--fan-out={}: must be a number from 1 to {}",
                             value, kMaxRanks));
  }
  return std::nullopt;
}

constexpr std::array<OptionRow, 33> kRows = {{
    {.name = "--acp-nprocs",
     .short_name = "-np",
     .old_names = "--acp-np -n",
     .group = Group::kSpecification,
     .kind = Kind::kText,
     .repeat = OptionRepeat::kAllowed,
     .argument = "N",
     .default_value = "1",
     .summary = "Number of ranks",
     .manual =
         "Number of ranks, 1 to 1048575. Without it there is one rank, or "
         "as many as the node file or --host has room for.",
     .target = take_procs},
    {.name = "--acp-nodefile",
     .old_names = "--acp-machinefile -nodefile -machinefile",
     .group = Group::kSpecification,
     .kind = Kind::kFile,
     .repeat = OptionRepeat::kAllowed,
     .argument = "FILE",
     .summary = "Line i of the file names the host of rank i",
     .manual = "Line i names the host of rank i: `host`, or `host:N` or `host "
               "slots=N` for N ranks in a row. `#` begins a comment.",
     .target = take_nodefile},
    {.name = "--acp-envnet",
     .old_names = "--acp-envent --acp-net -envnet -net -ndev",
     .group = Group::kSpecification,
     .kind = Kind::kChoice,
     .repeat = OptionRepeat::kAllowed,
     .argument = "NET",
     .summary = "Network",
     .manual =
         "The network between hosts; ranks of one host use shared memory, "
         "except with `udp`. `auto` takes RDMA devices where two hosts have "
         "them, else UDP. `shm` and `udp` take UDP, `ib` (also spelled "
         "`verbs` or `infiniband`; needs the package acp-verbs) RDMA devices, "
         "and `ucx` (needs the package acp-ucx) UCX. Upper case means the "
         "same. A network that ACP does not have is "
         "refused with status 125. Without the option it is `ACP_NET`, or the "
         "network "
         "that the program was linked for by `acpcc -ndev`, or `auto`.",
     .target = SettingId::kNet},
    {.name = "--acp-startermemsize",
     .old_names = "-startermemsize -smemsize",
     .group = Group::kSpecification,
     .kind = Kind::kText,
     .repeat = OptionRepeat::kAllowed,
     .argument = "BYTES",
     .default_value = "10240",
     .summary = "Starter memory of each rank; K, M, G and T are understood",
     .manual = "Starter memory of each rank. K, M, G and T are understood.",
     .target = SettingId::kStarterMemory},
    {.name = "--acp-heapsize",
     .group = Group::kSpecification,
     .kind = Kind::kText,
     .repeat = OptionRepeat::kAllowed,
     .argument = "BYTES",
     .default_value = "1G",
     .summary = "Heap of each rank, for acp_malloc",
     .manual = "Heap of each rank, which `acp_malloc` allocates from. "
               "`acp_info` prints all settings of the library; each has an "
               "environment variable.",
     .target = SettingId::kHeapSize},
    {.name = "--acp-startermemsize-dl",
     .old_names = "-startermemsize-dl -smemsize-dl",
     .group = Group::kSpecification,
     .kind = Kind::kText,
     .repeat = OptionRepeat::kAllowed,
     .argument = "BYTES",
     .summary = "For older scripts: raises the heap to this size",
     .manual = "Raises the heap to this size, and never lowers it. For older "
               "scripts.",
     .target = take_old_heap_size},
    {.name = "--acp-startermemsize-cl",
     .old_names = "-startermemsize-cl -smemsize-cl",
     .group = Group::kSpecification,
     .kind = Kind::kText,
     .repeat = OptionRepeat::kAllowed,
     .argument = "BYTES",
     .summary = "For older scripts: no effect; acprun names ACP_CH_BUFFER",
     .manual = "For older scripts, and without effect: channels need no "
               "starter memory. `ACP_CH_BUFFER` is the size of each channel's "
               "buffer.",
     .target = take_old_channel_size},

    {.name = "--host",
     .old_names = "-host",
     .group = Group::kHosts,
     .kind = Kind::kText,
     .argument = "HOST[:N],...",
     .summary = "Hosts of the ranks",
     .manual = "The hosts of the ranks; not beside a node file. Hosts with "
               "counts are filled in order, and a host without a count beside "
               "them has room for one rank. Without counts the ranks are "
               "divided evenly, neighbours together. In an allocation of "
               "Slurm, PBS or SGE that has several hosts, these are used when "
               "neither this option nor a node file is given.",
     .target = &Options::hosts},
    {.name = "--rsh",
     .old_names = "-rsh",
     .group = Group::kHosts,
     .kind = Kind::kCommand,
     .argument = "COMMAND",
     .default_value = "ssh",
     .summary = "Remote shell that reaches other hosts",
     .manual =
         "The remote shell: acprun runs `COMMAND HOST ACPRUN --daemon` once "
         "for each other host. `ssh` is the default, and gets options "
         "that forbid questions.",
     .target = take_rsh},
    {.name = "--rsh-timeout",
     .group = Group::kHosts,
     .kind = Kind::kSeconds,
     .argument = "S",
     .default_value = "30",
     .summary = "Seconds for a host to answer",
     .manual =
         "Time for acprun's daemon on another host to answer; 30 s without "
         "it.",
     .target = &Options::rsh_timeout},
    {.name = "--fan-out",
     .group = Group::kHosts,
     .kind = Kind::kText,
     .argument = "N",
     .default_value = "32",
     .summary = "Daemons that acprun, or a daemon, starts for many hosts",
     .manual = "With more than 2 N other hosts, acprun starts N daemons, and "
               "these start the rest, N each. 32 without it.",
     .target = take_fan_out},
    {.name = "--preload",
     .group = Group::kHosts,
     .summary = "Copy the program to the other hosts",
     .manual = "Copies the program's file to each other host, into a folder "
               "below `TMPDIR` there, and removes it at the end. Shared "
               "libraries and data are not copied.",
     .target = &Options::preload},
    {.name = "--oversubscribe",
     .group = Group::kHosts,
     .summary = "Put more ranks on the hosts than they have room for",
     .manual =
         "Uses the hosts of a node file or of --host again when they have "
         "room for too few ranks.",
     .target = &Options::oversubscribe},

    {.name = "--wdir",
     .group = Group::kRanks,
     .kind = Kind::kDirectory,
     .argument = "DIR",
     .summary = "Working directory of the ranks",
     .manual = "Working directory of the ranks.",
     .target = &Options::directory},
    {.name = "--env",
     .group = Group::kRanks,
     .kind = Kind::kAssignment,
     .repeat = OptionRepeat::kAllowed,
     .argument = "NAME=VALUE",
     .summary = "Variable for the ranks; may be given several times",
     .manual = "A variable for the ranks. It may be given several times.",
     .target = &Options::environment},
    {.name = "--bind",
     .group = Group::kRanks,
     .kind = Kind::kChoice,
     .argument = "WHERE",
     .choices = "auto|none|core|numa|hwthread",
     .default_value = "auto: to cores that no other job has taken",
     .summary = "Bind ranks to processors",
     .manual =
         "Binds ranks: `auto`, `none`, `core`, `numa` or `hwthread`. `auto`, "
         "the default, gives each of two and more ranks a core that no other "
         "job of this host has claimed, if there are enough. It does not bind "
         "when a variable like `OMP_NUM_THREADS` is above 1. Programs with "
         "several threads in each rank want `none`.",
     .target = take_binding},
    {.name = "--report-bindings",
     .group = Group::kRanks,
     .summary = "Print where each rank is bound",
     .manual = "Prints where the ranks are bound, or why they are not.",
     .target = &Options::report_bindings},
    {.name = "--wrap",
     .group = Group::kRanks,
     .kind = Kind::kCommand,
     .argument = "COMMAND",
     .summary = "Command to put before the program",
     .manual = "Puts a command, such as `gdb --args` or `valgrind`, before the "
               "program.",
     .target = take_wrap},
    {.name = "--wrap-ranks",
     .group = Group::kRanks,
     .kind = Kind::kRankList,
     .argument = "LIST",
     .default_value = "all",
     .needs = "--wrap",
     .summary = "Ranks that --wrap is for, like 0,2-3",
     .manual = "The ranks that `--wrap` is for, like `0,2-3`; all without it.",
     .target = take_wrap_ranks},

    {.name = "--tag",
     .group = Group::kStreams,
     .summary = "Put \"[rank] \" before each output line",
     .manual = "Puts \"[rank] \" before each line of output.",
     .target = &Options::tag},
    {.name = "--output-dir",
     .group = Group::kStreams,
     .kind = Kind::kDirectory,
     .argument = "DIR",
     .summary = "Write rank.N.out and rank.N.err into this directory",
     .manual = "Writes what the ranks print into files `rank.N.out` and "
               "`rank.N.err` of this directory instead.",
     .target = &Options::output_dir},
    {.name = "--stdin",
     .group = Group::kStreams,
     .kind = Kind::kChoice,
     .argument = "RANK",
     .choices = "0|none",
     .default_value = "0",
     .summary = "Rank that reads standard input",
     .manual = "The rank that reads standard input: `0`, the default, or "
               "`none`.",
     .target = take_stdin},

    {.name = "--timeout",
     .group = Group::kTimeLimits,
     .kind = Kind::kSeconds,
     .argument = "S",
     .summary = "End the job after these seconds",
     .manual = "Ends the job after S seconds.",
     .target = &Options::timeout},
    {.name = "--watchdog",
     .group = Group::kTimeLimits,
     .kind = Kind::kSeconds,
     .argument = "S",
     .summary = "End the job when all ranks wait for these seconds",
     .manual = "Ends the job when all ranks have waited for S seconds and none "
               "got any further.",
     .target = &Options::watchdog},
    {.name = "--init-timeout",
     .group = Group::kTimeLimits,
     .kind = Kind::kSeconds,
     .argument = "S",
     .default_value = "60",
     .summary = "Seconds for all ranks to reach acp_init",
     .manual = "Ends the job when a rank has not come to the rendezvous of "
               "`acp_init` S seconds after the first. 60 s without it; 0 waits "
               "for ever.",
     .target = &Options::init_timeout},
    {.name = "--grace",
     .group = Group::kTimeLimits,
     .kind = Kind::kSeconds,
     .argument = "S",
     .default_value = "5",
     .summary = "Seconds between SIGTERM and SIGKILL",
     .manual = "Time between SIGTERM and SIGKILL when the job was asked to "
               "end; 5 s without it.",
     .target = &Options::grace},

    {.name = "--debug",
     .summary = "For a program that is being written: stop at errors, and say "
                "when it hangs",
     .manual = "The first error ends the job, and another line has the place "
               "of the call in the program (`ACP_ERRORS=abort`). `acp_free` "
               "and `acp_finalize` look for wrong frees, overruns and leaks "
               "(`ACP_MALLOC_DEBUG=on`). When no rank has got any further for "
               "10 s, acprun prints where each rank waits. Then the job goes "
               "on, or ends with `--watchdog`.",
     .target = take_debug},
    {.name = "--stats",
     .kind = Kind::kFlagOrText,
     .argument = "json:FILE",
     .summary = "Count, and print what the ranks moved and waited for at the "
                "end, or write it as JSON",
     .manual = "Sets `ACP_COUNTERS=1` for the ranks, and prints tables at the "
               "end of the job. They have what each rank has moved, by way, "
               "how long it has waited in which function, and its memory. "
               "Another table has the packets that each rank has sent and "
               "received over UDP, and the share that was sent again. "
               "`--stats=json:FILE` writes all counters into a file, also "
               "those of each peer. `ACP_STATS=FILE` writes more about UDP.",
     .target = take_stats},
    {.name = "--report",
     .kind = Kind::kFile,
     .argument = "FILE",
     .summary = "Write a page for a browser about what the ranks moved and "
                "waited for",
     .manual = "Makes the ranks count as `--stats` does, and writes an HTML "
               "page at the end of the job. The page shows the traffic between "
               "ranks, their waits, the slowest ranks, packets that were sent "
               "again, processors, memory and settings. It is one file, which "
               "loads nothing else.",
     .target = take_report},
    {.name = "--dry-run",
     .summary = "Print the plan, start nothing",
     .manual = "Prints the plan and starts nothing.",
     .target = &Options::dry_run},
    {.name = "--verbose",
     .short_name = "-v",
     .summary = "Say what is being done",
     .manual = "Says what is being done.",
     .target = &Options::verbose},
    {.name = "--version",
     .summary = "Print the version",
     .manual = "Prints the version."},
    {.name = "--help",
     .short_name = "-h",
     .summary = "Print this help",
     .manual = "Prints all options."},
}};

}  // namespace

std::span<const OptionRow> acprun_rows() {
  return kRows;
}

const OptionTable& acprun_options() {
  static constexpr OptionTable kTable = {
      "acprun", "[-np N] [options] program [arguments]", kRows};
  return kTable;
}

}  // namespace acp::launcher
