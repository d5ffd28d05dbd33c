// Adds up and writes the counters; see statistics.h.
#include "hmpi/statistics.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "acp/extension.h"
#include "hmpi/below.h"

namespace hmpi {

namespace {

/// The rows of one process: messages, bytes, and nanoseconds in which receivers
/// copied.
struct Row {
  std::uint64_t messages;
  std::uint64_t bytes;
  std::uint64_t nanoseconds;
};

constexpr std::array<const char*, 4> kProtocols = {"inline", "copied",
                                                   "offered", "given"};

struct Sums {
  std::array<Row, kProtocols.size()> rows;
  std::uint64_t unexpected;
  std::uint64_t to_other_hosts;
  std::uint64_t on_unknown_comms;
};

Sums sums_of(const Job& job) {
  const Counters& counters = job.engine.counters();
  return {{{{counters.inline_messages, counters.inline_bytes,
             counters.inline_nanoseconds},
            {counters.copied_messages, counters.copied_bytes,
             counters.copied_nanoseconds},
            {counters.offered_messages, counters.offered_bytes,
             counters.offered_nanoseconds},
            {counters.given_messages, counters.given_bytes,
             counters.given_nanoseconds}}},
          counters.unexpected_messages,
          job.below_to_other_hosts,
          job.below_on_unknown_comms};
}

/// Writes a table to standard error.
void print(const Sums& sums) {
  (void)std::fprintf(stderr, "HMPI: %-10s %14s %18s %12s\n", "protocol",
                     "messages", "bytes", "copying, s");
  for (std::size_t i = 0; i < kProtocols.size(); ++i) {
    const Row& row = sums.rows[i];
    (void)std::fprintf(stderr, "HMPI: %-10s %14llu %18llu %12.6f\n",
                       kProtocols[i],
                       static_cast<unsigned long long>(row.messages),
                       static_cast<unsigned long long>(row.bytes),
                       static_cast<double>(row.nanoseconds) * 1e-9);
  }
  (void)std::fprintf(
      stderr,
      "HMPI: %llu messages came before their receive; to the MPI below went "
      "%llu messages for other hosts, and %llu on communicators that HMPI does "
      "not know\n",
      static_cast<unsigned long long>(sums.unexpected),
      static_cast<unsigned long long>(sums.to_other_hosts),
      static_cast<unsigned long long>(sums.on_unknown_comms));
}

/// Writes the same to a file. A file that cannot be written is named.
void write_json(const Sums& sums, const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr) {
    (void)std::fprintf(stderr, "HMPI: warning: HMPI_STATS=%s: %s\n",
                       path.c_str(), std::strerror(errno));
    return;
  }
  (void)std::fprintf(file, "{\n  \"protocols\": {");
  for (std::size_t i = 0; i < kProtocols.size(); ++i) {
    const Row& row = sums.rows[i];
    (void)std::fprintf(file,
                       "%s\n    \"%s\": {\"messages\": %llu, \"bytes\": %llu, "
                       "\"copying_ns\": %llu}",
                       i == 0 ? "" : ",", kProtocols[i],
                       static_cast<unsigned long long>(row.messages),
                       static_cast<unsigned long long>(row.bytes),
                       static_cast<unsigned long long>(row.nanoseconds));
  }
  (void)std::fprintf(
      file,
      "\n  },\n  \"unexpected\": %llu,\n  \"below\": {\"other_hosts\": %llu, "
      "\"unknown_communicators\": %llu}\n}\n",
      static_cast<unsigned long long>(sums.unexpected),
      static_cast<unsigned long long>(sums.to_other_hosts),
      static_cast<unsigned long long>(sums.on_unknown_comms));
  (void)std::fclose(file);
}

}  // namespace

/// "HMPI given bytes" and so on. Protocols that moved nothing are left out.
void show_statistics(const Job& job) {
  const Sums mine = sums_of(job);
  const auto show = [](const std::string& name, std::uint64_t value) {
    if (value != 0) {
      acpx_count(("HMPI " + name).c_str(), value);
    }
  };
  for (std::size_t i = 0; i < kProtocols.size(); ++i) {
    const std::string protocol = kProtocols[i];
    show(protocol + " messages", mine.rows[i].messages);
    show(protocol + " bytes", mine.rows[i].bytes);
    show(protocol + " copying, ns", mine.rows[i].nanoseconds);
  }
  show("messages before their receive", mine.unexpected);
  show("below: messages to other hosts", mine.to_other_hosts);
  show("below: messages on unknown communicators", mine.on_unknown_comms);
}

void write_statistics(const Job& job, const std::string& where) {
  const Sums mine = sums_of(job);
  Sums all{};
  int rank = 0;
  below.Comm_rank(MPI_COMM_WORLD, &rank);
  below.Reduce(&mine, &all, sizeof all / sizeof(std::uint64_t), MPI_UINT64_T,
               MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0 && where == "on") {
    print(all);
  } else if (rank == 0) {
    write_json(all, where);
  }
}

}  // namespace hmpi
