// Escapes bytes that a terminal would take for a command. Called for log lines,
// and by the launcher for all that other hosts say. Pure.
#include "base/printable.h"

#include <array>
#include <cstdint>
#include <utility>

namespace acp {

namespace {

/// A character at the front of a text. Size 0: the first byte begins none.
struct Character {
  std::uint32_t code = 0;
  std::size_t size = 0;
};

/// Takes UTF-8 in its shortest form alone. A longer form could hide a control
/// character.
Character first_of(std::string_view text) noexcept {
  const auto lead = static_cast<std::uint8_t>(text.front());
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {};
  std::uint32_t code = lead & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    const auto next = static_cast<std::uint8_t>(text[i]);
    if ((next & 0xc0) != 0x80) return {};
    code = code << 6 | (next & 0x3fU);
  }
  constexpr std::array<std::uint32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  return code < kLeast[size] || code > 0x10ffff || is_surrogate
             ? Character{}
             : Character{code, size};
}

/// Control characters, and characters that change the direction or the line of
/// the text behind them.
bool is_command(std::uint32_t code) noexcept {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) ||
         (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

std::string escaped(char byte) {
  switch (byte) {
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    default: break;
  }
  constexpr const char* kDigits = "0123456789abcdef";
  const auto value = static_cast<std::uint8_t>(byte);
  return {'\\', 'x', kDigits[value >> 4], kDigits[value & 15]};
}

/// Takes one piece off the front of the text, and returns it as it is shown.
std::string take_shown(std::string_view& text) {
  const Character first = first_of(text);
  const std::size_t size = first.size == 0 ? 1 : first.size;
  const std::string_view piece = text.substr(0, size);
  text.remove_prefix(size);
  if (first.size != 0 && !is_command(first.code)) return std::string(piece);
  std::string shown;
  for (const char byte : piece)
    shown += escaped(byte);
  return shown;
}

}  // namespace

bool is_printable(std::string_view text) noexcept {
  while (!text.empty()) {
    const Character first = first_of(text);
    if (first.size == 0 || is_command(first.code)) return false;
    text.remove_prefix(first.size);
  }
  return true;
}

std::string printable(std::string_view text, std::size_t most) {
  constexpr std::string_view kCut = "...";
  std::string shown;
  std::size_t whole = 0;  // bytes of `shown` that leave room for kCut
  while (!text.empty()) {
    shown += take_shown(text);
    if (shown.size() + kCut.size() <= most) whole = shown.size();
    if (shown.size() > most) {
      shown.resize(whole);
      shown += kCut;
      break;
    }
  }
  return shown;
}

std::string printable_lines(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    shown += printable(text.substr(0, end));
    if (end == std::string_view::npos) break;
    shown += '\n';
    text.remove_prefix(end + 1);
  }
  return shown;
}

}  // namespace acp
