// Decodes PMI_process_mapping. Called by the clients of PMI-1 and PMI-2 and by
// a fuzz target. It does no input or output.
#include "runtime/node_map.h"

#include <algorithm>
#include <charconv>

namespace acp::runtime {

namespace {

struct Block {
  std::uint32_t first_host = 0;
  std::uint32_t hosts = 0;
  std::uint32_t ranks_per_host = 0;
};

/// Takes tokens from the front of a text; spaces between tokens are skipped.
class TokenReader {
 public:
  explicit TokenReader(std::string_view text) : text_(text) {}

  bool take(std::string_view token) {
    skip_spaces();
    if (!text_.starts_with(token)) {
      return false;
    }
    text_.remove_prefix(token.size());
    return true;
  }

  bool take_number(std::uint32_t& number) {
    skip_spaces();
    const auto [end, error] =
        std::from_chars(text_.data(), text_.data() + text_.size(), number);
    if (error != std::errc{}) {
      return false;
    }
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return true;
  }

  bool is_at_end() {
    skip_spaces();
    return text_.empty();
  }

 private:
  void skip_spaces() {
    while (!text_.empty() && text_.front() == ' ') {
      text_.remove_prefix(1);
    }
  }

  std::string_view text_;
};

bool take_block(TokenReader& reader, Block& block) {
  return reader.take("(") && reader.take_number(block.first_host) &&
         reader.take(",") && reader.take_number(block.hosts) &&
         reader.take(",") && reader.take_number(block.ranks_per_host) &&
         reader.take(")");
}

std::optional<std::vector<Block>> decode_blocks(std::string_view text) {
  TokenReader reader(text);
  if (!reader.take("(") || !reader.take("vector")) {
    return std::nullopt;
  }
  std::vector<Block> blocks;
  while (reader.take(",")) {
    if (!take_block(reader, blocks.emplace_back())) {
      return std::nullopt;
    }
  }
  if (!reader.take(")") || !reader.is_at_end()) {
    return std::nullopt;
  }
  return blocks;
}

}  // namespace

/// Blocks without ranks add nothing, so a text of such blocks alone would
/// repeat for ever: it is refused.
std::optional<NodeMap> decode_process_mapping(std::string_view text,
                                              std::uint32_t ranks) {
  const auto blocks = decode_blocks(text);
  if (!blocks) {
    return std::nullopt;
  }
  NodeMap map;
  while (map.size() < ranks) {
    const std::size_t before = map.size();
    for (const Block& block : *blocks) {
      for (std::uint32_t host = 0;
           host < block.hosts && block.ranks_per_host > 0 && map.size() < ranks;
           ++host) {
        const std::size_t left = ranks - map.size();
        map.insert(map.end(), std::min<std::size_t>(left, block.ranks_per_host),
                   block.first_host + host);
      }
    }
    if (map.size() == before) {
      return std::nullopt;
    }
  }
  return map;
}

}  // namespace acp::runtime
