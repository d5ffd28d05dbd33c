// Fuzz target: any bytes as values of a launcher's key-value space, and as the
// records and tables that they carry. A bundle that is accepted has one text
// only.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "protocol/published_table.h"
#include "runtime/host_bundle.h"
#include "runtime/job_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size);

namespace {

using namespace acp::runtime;  // NOLINT: a program of one purpose

void check_bytes(std::string_view bytes) {
  constexpr std::uint32_t kProcs = 64;
  if (const auto table = acp::protocol::decode_table(
          bytes, kProcs, acp::protocol::kCardBytes)) {
    for (const auto& entry : *table) {
      if (entry.proc >= kProcs || entry.card.size() > acp::protocol::kCardBytes)
        std::abort();
    }
  }
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
