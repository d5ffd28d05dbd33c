// The text of messages of the process management interfaces PMI-1 and PMI-2: a
// command and fields, each a name and a value.
//
//   PMI-1   cmd=put kvsname=kvs_1 key=a value=b\n
//   PMI-2   000026cmd=kvs-put;key=a;value=b;      the length, then the text;
//                                                 ";;" stands for one ";"
//
// The functions are pure. The bytes that they decode come from the launcher.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace acp::runtime {

enum class PmiDialect : std::uint8_t { kPmi1, kPmi2 };

/// A plain value. Names and values of PMI-1 have no space and no line end.
struct PmiMessage {
  struct Field {
    std::string name;
    std::string value;

    bool operator==(const Field&) const = default;
  };

  std::string command;
  std::vector<Field> fields;

  bool operator==(const PmiMessage&) const = default;

  /// The value of the first field of this name; nullptr when there is none.
  const std::string* find(std::string_view name) const noexcept;
  /// The value of that field as a number of at most 32 bits; nothing when the
  /// field is missing or is no number.
  std::optional<std::int64_t> number(std::string_view name) const noexcept;
  /// Whether the launcher did what it was asked for: "rc" is missing or 0.
  bool is_success() const noexcept;
};

/// Longest text of a message that is accepted.
inline constexpr std::size_t kPmiMaxText = std::size_t{1} << 16;
/// Digits in front of a message of PMI-2.
inline constexpr std::size_t kPmi2LengthDigits = 6;

/// The bytes of a message. Values of PMI-2 may have any characters.
std::string encode_pmi(PmiDialect dialect, const PmiMessage& message);

/// Decodes the text of a message, without the line end of PMI-1 or the length
/// of PMI-2. Nothing: no launcher sends such a text.
std::optional<PmiMessage> decode_pmi(PmiDialect dialect, std::string_view text);

/// Decodes the length in front of a message of PMI-2, which spaces on either
/// side or zeros fill up; at most kPmiMaxText.
std::optional<std::size_t> decode_pmi2_length(std::string_view digits);

}  // namespace acp::runtime
