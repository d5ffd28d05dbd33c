// acp_perf: measures the basic layer, and beside it the machine without ACP.
// Users run it under acprun, or alone. Rank 0 measures and prints; the other
// ranks may only respond to it or wait.
#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "compare.h"
#include "machine.h"
#include "pinning.h"
#include "plot.h"
#include "resets.h"
#include "rows.h"
#include "runner.h"
#include "start.h"

namespace acp::perf {

namespace {

void print(const std::string& text, std::FILE* file = stdout) {
  std::fputs(text.c_str(), file);
  std::fflush(file);
}

int fail(const char* what) {
  print(fmt::format("acp_perf: {}: {}\n", what, acpx_strerror(acp_errno)),
        stderr);
  return 1;
}

/// Parses the program's own arguments. Arguments of the library (--acp-...)
/// are left to acp_init, which also reports their errors.
Parsed parse_own_words(int argc, char** argv) {
  std::vector<const char*> own;
  for (int i = 0; i < argc; ++i) {
    if (!std::string_view(argv[i]).starts_with("--acp-")) {
      own.push_back(argv[i]);
    }
  }
  return parse_options(static_cast<int>(own.size()), own.data());
}

/// Writes what `render_file` gives into a file, unless it has no name. False:
/// an error is printed.
bool write_file(const std::string& path,
                std::string (*render_file)(const Machine&,
                                           const std::vector<Result>&),
                const Machine& machine,
                const std::vector<Result>& results) {
  if (path.empty()) return true;
  const std::string text = render_file(machine, results);
  std::FILE* file = std::fopen(path.c_str(), "w");
  bool is_written = file != nullptr && std::fputs(text.c_str(), file) >= 0;
  is_written = file != nullptr && std::fclose(file) == 0 && is_written;
  if (!is_written) {
    print(fmt::format("acp_perf: {}: {}\n", path, std::strerror(errno)),
          stderr);
  }
  return is_written;
}

/// Prints the report, and writes the files that the options name. Returns 1
/// when a row failed or a file is not written, else 0.
int print_results(const Machine& machine,
                  const std::vector<Result>& results,
                  const Options& options) {
  print(render(machine, results, options.format));
  if (!write_file(options.svg, render_svg, machine, results) ||
      !write_file(options.html, render_html, machine, results)) {
    return 1;
  }
  for (const Result& result : results) {
    if (!result.outcome.failure.empty()) return 1;
  }
  return 0;
}

void print_list(const Rows& rows) {
  for (const Row& row : rows) {
    print(fmt::format("{:<22} {}\n", row.name, row.what));
  }
}

/// Returns the exit status. The head line has no path to a target, since no row
/// has one.
int time_resets(const Context& context, const Options& options) {
  Rows rows;
  const auto results = run_resets(options, rows);
  if (context.rank != 0) return 0;
  Machine machine = describe_machine();
  machine.emplace_back("ranks", std::to_string(context.procs));
  return print_results(machine, results, options);
}

/// A rank's work between acp_init and acp_finalize: answers --help and --list,
/// or pins itself, opens its memory and runs the rows. Returns the exit status.
int run_rank(Context& context, const Parsed& parsed) {
  context.rank = acp_rank();
  context.procs = acp_procs();
  context.target = context.procs > 1 ? 1 : 0;
  context.third = context.procs > 2 ? 2 : context.target;
  if (parsed.is_done) {
    if (context.rank == 0) {
      print(parsed.text, parsed.status == 0 ? stdout : stderr);
    }
    return parsed.status;
  }
  const Options& options = parsed.options;
  const Rows rows = options.sweep_least == 0
                        ? all_rows()
                        : sweep_rows(options.sweep_least, options.sweep_most);
  if (options.list) {
    if (context.rank == 0) print_list(rows);
    return 0;
  }
  if (options.resets != 0) return time_resets(context, options);
  if (options.pin) context.pinned = pin_rank(context.rank);
  if (!context.memory.open()) return fail("memory to measure with");
  if (!prepare(context)) return fail("reaching the other rank's memory");
  const auto selected = select_rows(context, rows, options);
  if (selected.empty()) {
    if (context.rank == 0) {
      print(fmt::format("acp_perf: --rows {}: no row has such a name; acp_perf "
                        "--list prints them\n",
                        options.rows),
            stderr);
    }
    return context.rank == 0 ? 1 : 0;
  }
  const auto results = run_rows(context, rows, selected, options);
  if (context.rank != 0) return 0;
  return print_results(describe_job(context), results, options);
}

/// With --start, one process runs whole jobs and never calls acp_init itself.
/// Otherwise memory is requested before acp_init, as acpx_add_module demands.
int run(int argc, char** argv) {
  const Parsed parsed = parse_own_words(argc, argv);
  const Options& options = parsed.options;
  if (!parsed.is_done && !options.compare.empty()) {
    const Comparison comparison =
        compare_reports(options.compare[0], options.compare[1]);
    print(comparison.text, comparison.status == 2 ? stderr : stdout);
    return comparison.status;
  }
  if (!options.start.empty()) {
    if (std::getenv("ACP_BOOTSTRAP_FD") != nullptr) {
      print("acp_perf: --start runs acprun itself; leave the outer one out\n",
            stderr);
      return 1;
    }
    Rows rows;
    const auto results = run_starts(options, rows);
    return print_results(describe_machine(), results, options);
  }
  Context context;
  if (!options.nothing && !context.memory.request()) {
    return fail("asking for memory");
  }
  if (acp_init(&argc, &argv) != 0) return fail("acp_init");
  const int status = options.nothing ? 0 : run_rank(context, parsed);
  // A failed rank exits without acp_finalize, since the other ranks may be
  // waiting for it in acp_sync.
  if (status != 0 && !parsed.is_done && context.rank != 0) return status;
  return acp_finalize() == 0 ? status : fail("acp_finalize");
}

}  // namespace

}  // namespace acp::perf

int main(int argc, char** argv) {
  return acp::perf::run(argc, argv);
}
