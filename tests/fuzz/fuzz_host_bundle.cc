// Fuzz target: any bytes as values of a launcher's key-value space, and as the
// records and tables that they carry. A bundle that is accepted has one text
// only.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "protocol/host_segment.h"
#include "protocol/published_table.h"
#include "runtime/host_bundle.h"
#include "runtime/job_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size);

namespace {

using namespace acp::runtime;

/// The segment of one process of 64. A table writes the entries of the others.
const acp::protocol::HostSegment& segment() {
  static const acp::protocol::HostSegment host = [] {
    acp::protocol::HostPlan plan;
    plan.procs = 64;
    plan.sizes.module_bytes = 1 << 20;
    const auto memory = acp::protocol::create_host_segment(plan);
    auto mapped = acp::protocol::HostSegment::map(memory.value().get());
    return std::move(mapped.value());
  }();
  return host;
}

void check_bytes(std::string_view bytes) {
  // The secret lies behind the address cards.
  const auto secret = segment().secret();
  std::ignore = acp::protocol::write_table(segment(), bytes);
  if (segment().secret() != secret) std::abort();
  if (const auto job = decode_job_record(bytes)) {
    if (encode_record(*job) != bytes) std::abort();
  }
  if (const auto host = decode_host_record(bytes)) {
    if (encode_record(*host) != bytes) std::abort();
    for (const std::string& address : host->addresses) {
      if (address.size() >= acp::protocol::kRouteBytes) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_bytes(text);
  const auto part = decode_bundle_part(text);
  if (!part) return 0;
  if (part->parts == 0 || part->parts > kBundleMaxParts) std::abort();
  const auto bytes = decode_bundle(part->text);
  if (!bytes) return 0;
  std::string again;
  for (const std::string& value : split_bundle(*bytes, 64)) {
    again += decode_bundle_part(value).value().text;
  }
  if (again != part->text) std::abort();
  check_bytes(*bytes);
  return 0;
}
