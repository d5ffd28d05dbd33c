// qmp_perf measures the communication patterns of lattice codes over QMP, in
// microseconds. mpi_perf measures them over MPI; it is built where MPI was
// found. Users run both. This file may call only machine.h for messages, so
// that both programs do the same.
//
//   acprun -np 2 qmp_perf [--time-ms MS] [--rows PART] [--json] [--list]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "machine.h"
#include "pinning.h"
#include "rows.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  double time_ms = 200;
  std::string part;
  bool is_json = false;
  bool is_list = false;
  bool is_wrong = false;
};

/// QMP gives the program all words that are not its own. An unknown word is
/// remembered, and the program ends after QMP_init, on all nodes.
Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (word == "--json") {
      options.is_json = true;
    } else if (word == "--list") {
      options.is_list = true;
    } else if (word == "--rows" && value != nullptr) {
      options.part = argv[++i];
    } else if (word == "--time-ms" && value != nullptr) {
      options.time_ms = std::strtod(argv[++i], nullptr);
      options.is_wrong |= !(options.time_ms > 0 && options.time_ms < 1e6);
    } else {
      options.is_wrong = true;
    }
  }
  return options;
}

double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin)
      .count();
}

struct Result {
  double median_us = 0;
  double least_us = 0;
  bool is_right = false;
};

/// Runs batches of equally many runs on all nodes. Each node takes the time;
/// that of node 0 counts.
Result measure(const qmp_perf::Pattern& pattern, double time_ms) {
  constexpr int kWarm = 10;
  pattern.run();  // The first run connects the channels.
  qmp_perf::barrier();
  auto begin = Clock::now();
  for (int i = 0; i < kWarm; ++i) {
    pattern.run();
  }
  // Node 0 decides how many runs a batch has, so that all nodes run equally
  // often.
  double plan[2] = {us_since(begin) / kWarm, 0};
  qmp_perf::broadcast(plan, sizeof plan);
  const double each_us = std::max(plan[0], 0.05);
  const int batch = std::clamp(static_cast<int>(20 / each_us), 1, 200);
  const int batches =
      std::clamp(static_cast<int>(time_ms * 1000 / each_us / batch), 5, 20'000);
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(batches));
  for (int i = 0; i < batches; ++i) {
    begin = Clock::now();
    for (int k = 0; k < batch; ++k) {
      pattern.run();
    }
    times.push_back(us_since(begin) / batch / pattern.parts);
  }
  std::sort(times.begin(), times.end());
  double wrong = pattern.is_right() ? 0 : 1;
  qmp_perf::sum(&wrong, 1);
  return {times[times.size() / 2], times.front(), wrong == 0};
}

void print(const Options& options,
           const qmp_perf::Row& row,
           const Result& result,
           bool is_first) {
  if (options.is_json) {
    std::printf(
        "%s\n {\"name\": \"%s\", \"state\": \"%s\", \"p50\": %.1f, "
        "\"least\": %.1f}",
        is_first ? "" : ",", row.name.c_str(),
        result.is_right ? "ok" : "FAILED", result.median_us * 1000,
        result.least_us * 1000);
  } else if (!result.is_right) {
    std::printf("%-18s FAILED: wrong data\n", row.name.c_str());
  } else {
    std::printf("%-18s %10.3f %10.3f  %s\n", row.name.c_str(), result.median_us,
                result.least_us, row.what.c_str());
  }
  std::fflush(stdout);
}

bool is_wanted(const qmp_perf::Row& row, const Options& options) {
  return row.name.find(options.part) != std::string::npos &&
         (!row.needs_two || qmp_perf::nodes() >= 2);
}

/// Fails when no row was measured, so that a script does not take that for a
/// success.
bool has_rows(const Options& options) {
  const auto& rows = qmp_perf::rows();
  if (std::any_of(rows.begin(), rows.end(), [&](const qmp_perf::Row& row) {
        return is_wanted(row, options);
      })) {
    return true;
  }
  if (qmp_perf::node() == 0) {
    std::fprintf(stderr,
                 "qmp_perf: no row for %d nodes has '%s' in its name; --list "
                 "shows all\n",
                 qmp_perf::nodes(), options.part.c_str());
  }
  return false;
}

/// Every node measures every row; node 0 prints.
int run(const Options& options) {
  const bool is_speaker = qmp_perf::node() == 0;
  if (is_speaker && options.is_json) {
    std::printf("{\"library\": \"%s\", \"nodes\": %d, \"rows\": [",
                qmp_perf::library(), qmp_perf::nodes());
  } else if (is_speaker) {
    std::printf("%s on %d nodes, microseconds\n%-18s %10s %10s\n",
                qmp_perf::library(), qmp_perf::nodes(), "row", "median",
                "least");
  }
  bool is_first = true;
  int status = 0;
  for (const qmp_perf::Row& row : qmp_perf::rows()) {
    if (!is_wanted(row, options)) {
      continue;
    }
    const qmp_perf::Pattern pattern = row.make();
    const Result result = measure(pattern, options.time_ms);
    pattern.end();
    qmp_perf::free_all();
    if (is_speaker) {
      print(options, row, result, is_first);
    }
    is_first = false;
    status |= result.is_right ? 0 : 1;
  }
  if (is_speaker && options.is_json) {
    std::printf("\n]}\n");
  }
  return status;
}

}  // namespace

/// Joins first: QMP takes its own options out of argv, and only a node of the
/// job knows whether it has to print.
int main(int argc, char** argv) {
  qmp_perf::join(&argc, &argv);
  // On a busy machine both nodes would share a core now and then.
  (void)acp::perf::pin_rank(qmp_perf::node());
  const Options options = read_options(argc, argv);
  int status = 0;
  if (options.is_wrong) {
    std::fprintf(stderr,
                 "usage: qmp_perf [--time-ms MS] [--rows PART] "
                 "[--json] [--list]\n");
    status = 2;
  } else if (options.is_list) {
    for (const qmp_perf::Row& row : qmp_perf::rows()) {
      if (qmp_perf::node() == 0) {
        std::printf("%-18s %s\n", row.name.c_str(), row.what.c_str());
      }
    }
  } else {
    status = has_rows(options) ? run(options) : 2;
  }
  qmp_perf::leave();
  return status;
}
