// Fuzz target: any bytes as an answer of acprun to acp_top. A view that is
// accepted has valid indices and texts, and comes out as it went in.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/printable.h"
#include "protocol/job_view.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace acp::protocol;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (size < kViewHeaderBytes) return 0;
  [[maybe_unused]] const ViewHeader header = decode_view_header(bytes);
  const auto view = decode_view(bytes.substr(kViewHeaderBytes));
  if (!view) return 0;
  if (!acp::is_printable(view->program)) std::abort();
  for (const RankView& rank : view->ranks) {
    if (rank.host >= view->hosts.size() || rank.rank >= view->procs ||
        !acp::is_printable(rank.call)) {
      std::abort();
    }
  }
  const auto again = decode_view(
      std::string_view(encode_view(*view)).substr(kViewHeaderBytes));
  if (again != view) std::abort();
  return 0;
}
