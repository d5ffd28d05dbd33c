// Encodes and decodes messages of PMI-1 and PMI-2. Called by PmiConnection for
// the bytes, by the two clients (pmi1.cc, pmi2.cc) for the fields, and by a
// fuzz target. It does no input or output.
#include "runtime/pmi_message.h"

#include <fmt/core.h>

#include <charconv>
#include <limits>

namespace acp::runtime {

namespace {

constexpr std::string_view kCommandName = "cmd";

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc{} &&
                         end == text.data() + text.size() &&
                         number >= std::numeric_limits<std::int32_t>::min() &&
                         number <= std::numeric_limits<std::uint32_t>::max();
  return is_number ? std::optional(number) : std::nullopt;
}

/// Takes the text up to the next separator from the front of `rest`. In PMI-2
/// two semicolons are one character of the value.
std::string take_word(PmiDialect dialect, std::string_view& rest) {
  const char separator = dialect == PmiDialect::kPmi1 ? ' ' : ';';
  std::string word;
  while (!rest.empty()) {
    const char next = rest.front();
    rest.remove_prefix(1);
    if (next != separator) {
      word += next;
    } else if (dialect == PmiDialect::kPmi2 && !rest.empty() &&
               rest.front() == separator) {
      word += separator;
      rest.remove_prefix(1);
    } else {
      return word;
    }
  }
  return word;
}

void append_field(PmiDialect dialect,
                  std::string_view name,
                  std::string_view value,
                  std::string& to) {
  to += name;
  to += '=';
  if (dialect == PmiDialect::kPmi1) {
    to += value;
    to += ' ';
    return;
  }
  for (const char one : value) {
    to += one;
    if (one == ';') {
      to += ';';
    }
  }
  to += ';';
}

}  // namespace

const std::string* PmiMessage::find(std::string_view name) const noexcept {
  for (const Field& field : fields) {
    if (field.name == name) {
      return &field.value;
    }
  }
  return nullptr;
}

std::optional<std::int64_t> PmiMessage::number(
    std::string_view name) const noexcept {
  const std::string* value = find(name);
  return value == nullptr ? std::nullopt : number_of(*value);
}

bool PmiMessage::is_success() const noexcept {
  return find("rc") == nullptr || number("rc") == 0;
}

/// PMI-1 ends with a line end instead of the last space.
std::string encode_pmi(PmiDialect dialect, const PmiMessage& message) {
  std::string text;
  append_field(dialect, kCommandName, message.command, text);
  for (const PmiMessage::Field& field : message.fields) {
    append_field(dialect, field.name, field.value, text);
  }
  if (dialect == PmiDialect::kPmi1) {
    text.back() = '\n';
    return text;
  }
  return fmt::format("{:0{}}{}", text.size(), kPmi2LengthDigits, text);
}

/// Launchers put several spaces between fields, and some end a message with a
/// separator: empty words are skipped.
std::optional<PmiMessage> decode_pmi(PmiDialect dialect,
                                     std::string_view text) {
  if (text.size() > kPmiMaxText) {
    return std::nullopt;
  }
  PmiMessage message;
  bool has_command = false;
  while (!text.empty()) {
    const std::string word = take_word(dialect, text);
    if (word.empty()) {
      continue;
    }
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      return std::nullopt;
    }
    if (!has_command) {
      if (word.substr(0, equals) != kCommandName) {
        return std::nullopt;
      }
      message.command = word.substr(equals + 1);
      has_command = true;
    } else {
      message.fields.push_back(
          {word.substr(0, equals), word.substr(equals + 1)});
    }
  }
  return has_command ? std::optional(std::move(message)) : std::nullopt;
}

std::optional<std::size_t> decode_pmi2_length(std::string_view digits) {
  if (digits.size() != kPmi2LengthDigits) {
    return std::nullopt;
  }
  while (digits.ends_with(' ')) {
    digits.remove_suffix(1);
  }
  while (digits.starts_with(' ')) {
    digits.remove_prefix(1);
  }
  const auto number = number_of(digits);
  if (!number || *number < 0 ||
      static_cast<std::size_t>(*number) > kPmiMaxText) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(*number);
}

}  // namespace acp::runtime
