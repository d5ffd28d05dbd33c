// Encodes and decodes the orders of a host. Called by acprun and its daemons.
// Makes no system call.
#include "launcher/host_orders.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "protocol/byte_codec.h"

namespace acp::launcher {

using protocol::ByteReader;
using protocol::ByteWriter;

namespace {

void write_hosts(ByteWriter& writer, const std::vector<HostRanks>& hosts) {
  writer.number(static_cast<std::uint32_t>(hosts.size()));
  for (const HostRanks& host : hosts) {
    writer.number(host.number);
    writer.text(host.name);
    const auto runs = host.ranks.runs();
    writer.number(static_cast<std::uint32_t>(runs.size()));
    for (const RankRuns::Run& run : runs) {
      writer.number(run.first);
      writer.number(run.count);
    }
  }
}

/// Returns no ranks when they are not ascending.
RankRuns read_ranks(ByteReader& reader) {
  RankRuns ranks;
  std::uint64_t next = 0;
  for (std::uint32_t runs = reader.count(); runs > 0; --runs) {
    const auto first = reader.number<std::uint32_t>();
    const auto count = reader.number<std::uint32_t>();
    if (first < next || count == 0) return {};
    ranks.append(first, count);
    next = std::uint64_t{first} + count;
  }
  return ranks;
}

std::vector<HostRanks> read_hosts(ByteReader& reader) {
  std::vector<HostRanks> hosts(reader.count());
  for (HostRanks& host : hosts) {
    host.number = reader.number<std::uint32_t>();
    host.name = reader.text();
    host.ranks = read_ranks(reader);
  }
  return hosts;
}

void write_groups(ByteWriter& writer, const std::vector<CommandGroup>& groups) {
  writer.number(static_cast<std::uint32_t>(groups.size()));
  for (const CommandGroup& group : groups) {
    writer.number(group.first);
    writer.texts(group.command);
    writer.texts(group.settings);
    writer.text(group.directory);
    writer.number(static_cast<std::uint8_t>(group.is_foreign));
    writer.text(group.name);
  }
}

std::vector<CommandGroup> read_groups(ByteReader& reader) {
  std::vector<CommandGroup> groups(reader.count());
  for (CommandGroup& group : groups) {
    group.first = reader.number<std::uint32_t>();
    group.command = reader.texts();
    group.settings = reader.texts();
    group.directory = reader.text();
    group.is_foreign = reader.number<std::uint8_t>() != 0;
    group.name = reader.text();
  }
  return groups;
}

void write_shell(ByteWriter& writer, const RemoteShell& shell) {
  writer.texts(shell.words);
  writer.text(shell.acprun);
  writer.number(std::int64_t{shell.timeout.count()});
  writer.number(shell.fan_out);
}

RemoteShell read_shell(ByteReader& reader) {
  RemoteShell shell;
  shell.words = reader.texts();
  shell.acprun = reader.text();
  shell.timeout = std::chrono::milliseconds(reader.number<std::int64_t>());
  shell.fan_out = reader.number<std::uint32_t>();
  return shell;
}

/// Whether there is a command for each rank.
bool are_sound(const std::vector<CommandGroup>& groups) {
  if (groups.empty() || groups.front().first != 0) return false;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].command.empty()) return false;
    if (i > 0 && groups[i - 1].first >= groups[i].first) return false;
  }
  return true;
}

/// Whether each host has ranks, and these are ranks of the job.
bool is_sound(const HostOrders& orders) {
  if (orders.hosts.empty() || !are_sound(orders.groups)) return false;
  return std::ranges::all_of(orders.hosts, [&](const HostRanks& host) {
    if (host.ranks.empty()) return false;
    const RankRuns::Run& last = host.ranks.runs().back();
    return std::uint64_t{last.first} + last.count <= orders.procs;
  });
}

}  // namespace

/// The reader below takes the fields in this order. There is no version field:
/// the greetings have compared the versions of both sides before.
std::string encode_orders(const HostOrders& orders) {
  ByteWriter writer;
  writer.number(orders.identity.id);
  writer.number(orders.procs);
  writer.number(orders.sizes);
  write_hosts(writer, orders.hosts);
  writer.texts(orders.routes);
  write_shell(writer, orders.shell);
  write_groups(writer, orders.groups);
  writer.texts(orders.wrap);
  writer.text(orders.wrap_ranks);
  writer.texts(orders.environment);
  writer.text(orders.directory);
  writer.text(orders.output_dir);
  writer.number(orders.input_rank);
  writer.number(static_cast<std::uint8_t>(orders.binding));
  writer.number(static_cast<std::uint8_t>(orders.report_bindings));
  writer.number(static_cast<std::uint8_t>(orders.report_traffic));
  writer.number(static_cast<std::uint8_t>(orders.tag));
  writer.text(orders.program_name);
  writer.number(orders.output_window);
  return writer.take();
}

/// Fields are in the order of encode_orders(). The reader returns zeros behind
/// the end, so the checks of length and sense stand at the end.
std::optional<HostOrders> decode_orders(std::string_view bytes) {
  ByteReader reader(bytes);
  HostOrders orders;
  orders.identity.id = reader.number<std::array<std::uint8_t, 16>>();
  orders.procs = reader.number<std::uint32_t>();
  orders.sizes = reader.number<protocol::HostSizes>();
  orders.hosts = read_hosts(reader);
  orders.routes = reader.texts();
  orders.shell = read_shell(reader);
  orders.groups = read_groups(reader);
  orders.wrap = reader.texts();
  orders.wrap_ranks = reader.text();
  orders.environment = reader.texts();
  orders.directory = reader.text();
  orders.output_dir = reader.text();
  orders.input_rank = reader.number<std::uint32_t>();
  orders.binding = static_cast<Binding>(reader.number<std::uint8_t>());
  orders.report_bindings = reader.number<std::uint8_t>() != 0;
  orders.report_traffic = reader.number<std::uint8_t>() != 0;
  orders.tag = reader.number<std::uint8_t>() != 0;
  orders.program_name = reader.text();
  orders.output_window = reader.number<std::int64_t>();
  if (!reader.is_at_end() || !is_sound(orders)) return std::nullopt;
  return orders;
}

}  // namespace acp::launcher
