// Fuzz target: any bytes as a node file. The parser returns nodes with valid
// names and counts, or an error.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "launcher/nodefile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace acp::launcher;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parsed = parse_nodefile(text);
  if (const auto* error = std::get_if<NodefileError>(&parsed)) {
    if (error->line == 0 || error->text.empty()) std::abort();
    return 0;
  }
  const auto& nodes = std::get<std::vector<Node>>(parsed);
  std::string written;
  for (const Node& node : nodes) {
    if (node.host.empty() || node.capacity == 0 || node.capacity > kMaxRanks) {
      std::abort();
    }
    written += node.host + " slots=" + std::to_string(node.capacity) + "\n";
  }
  if (capacity_of(nodes) > kMaxRanks) std::abort();
  // A file written from these nodes has to have the same meaning. The exception
  // are hosts with one colon, which only brackets tell from a count.
  const auto again = parse_nodefile(written);
  if (const auto* same = std::get_if<std::vector<Node>>(&again)) {
    if (same->size() != nodes.size() ||
        capacity_of(*same) != capacity_of(nodes)) {
      std::abort();
    }
  }
  return 0;
}
