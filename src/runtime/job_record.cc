// Encodes, decodes and makes the records that start a job under another
// launcher than acprun. Called by the bootstrap, before any transport is open.
// It sends nothing. Bytes come from other hosts, so decoding trusts nothing.
#include "runtime/job_record.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "base/host_facts.h"
#include "protocol/byte_codec.h"
#include "transport/interfaces.h"

namespace acp::runtime {

namespace {

/// Addresses beyond these are left out: each makes the record of every host
/// longer.
constexpr std::size_t kMaxAddresses = 8;

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

std::uint64_t network_namespace() {
  struct stat info {};

  return ::stat("/proc/self/ns/net", &info) == 0 ? info.st_ino : 0;
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> addresses;
  const auto known = transport::list_local_addresses();
  if (!known.ok()) {
    return addresses;
  }
  for (const transport::LocalAddress& one : *known) {
    const std::string text = transport::format_address(one.address);
    const bool is_usable = !transport::is_loopback(one.address) &&
                           !transport::is_link_local(one.address) &&
                           text.size() < protocol::kRouteBytes;
    if (is_usable && addresses.size() < kMaxAddresses) {
      addresses.push_back(text);
    }
  }
  return addresses;
}

}  // namespace

std::string encode_record(const JobRecord& record) {
  protocol::ByteWriter writer;
  writer.number(record.version);
  writer.number(record.procs);
  writer.number(record.sizes);
  writer.number(record.id);
  writer.number(record.leader_key);
  writer.number(record.leader_protocol);
  return writer.take();
}

std::string encode_record(const HostRecord& record) {
  protocol::ByteWriter writer;
  writer.text(record.door);
  writer.text(record.host_name);
  writer.text(record.boot);
  writer.number(record.network);
  writer.texts(record.addresses);
  writer.number(record.port);
  writer.number(record.seal_key);
  return writer.take();
}

std::optional<JobRecord> decode_job_record(std::string_view bytes) {
  protocol::ByteReader reader(bytes);
  JobRecord record;
  record.version = reader.number<std::uint32_t>();
  record.procs = reader.number<std::uint32_t>();
  record.sizes = reader.number<protocol::HostSizes>();
  record.id = reader.number<std::array<std::uint8_t, 16>>();
  record.leader_key = reader.number<LeaderKey>();
  record.leader_protocol = reader.number<std::uint32_t>();
  return reader.is_at_end() ? std::optional(record) : std::nullopt;
}

/// An address goes into HostHeader::route_to, which has a fixed size.
std::optional<HostRecord> decode_host_record(std::string_view bytes) {
  protocol::ByteReader reader(bytes);
  HostRecord record;
  record.door = reader.text();
  record.host_name = reader.text();
  record.boot = reader.text();
  record.network = reader.number<std::uint64_t>();
  record.addresses = reader.texts();
  record.port = reader.number<std::uint16_t>();
  record.seal_key = reader.number<SealKey>();
  const bool fits =
      std::ranges::all_of(record.addresses, [](const std::string& address) {
        return address.size() < protocol::kRouteBytes;
      });
  return reader.is_at_end() && fits ? std::optional(std::move(record))
                                    : std::nullopt;
}

HostRecord describe_this_host(std::string door) {
  return {std::move(door), host_name(), boot_id(), network_namespace(),
          own_addresses(), 0,           {}};
}

bool are_together(const HostRecord& one, const HostRecord& other) noexcept {
  return one.boot == other.boot && one.network == other.network;
}

/// Machines often have an equal address on an internal network of their own,
/// which leads to no other machine.
std::string route_between(const HostRecord& own, const HostRecord& other) {
  if (are_together(own, other)) {
    return "";
  }
  for (const std::string& address : other.addresses) {
    if (std::ranges::find(own.addresses, address) == own.addresses.end()) {
      return address;
    }
  }
  return "";
}

std::string why_no_route(const HostRecord& own, const HostRecord& other) {
  return other.addresses.empty()
             ? fmt::format(
                   "{}: it has no address but loopback and link-local ones",
                   other.host_name)
             : fmt::format(
                   "{}: it has no address that {} does not have as well",
                   other.host_name, own.host_name);
}

}  // namespace acp::runtime
