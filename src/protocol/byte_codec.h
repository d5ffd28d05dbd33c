// Writes and reads tables of values that processes of a job send each other
// when it starts. Numbers are in the byte order of the machine, and strings
// have their length before them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace acp::protocol {

/// Appends values to a string. Used by one thread.
class ByteWriter {
 public:
  template <typename T>
  void number(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  void text(std::string_view text) {
    number(static_cast<std::uint32_t>(text.size()));
    bytes_.append(text);
  }

  void texts(const std::vector<std::string>& texts) {
    number(static_cast<std::uint32_t>(texts.size()));
    for (const std::string& one : texts)
      text(one);
  }

  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Takes values from the front of a string that may hold any bytes. After the
/// first value that is missing, is_good() is false and all values are empty.
/// Used by one thread.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T number() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (take(sizeof value)) {
      std::memcpy(&value, taken_.data(), sizeof value);
    }
    return value;
  }

  std::string_view text() {
    const auto size = number<std::uint32_t>();
    return take(size) ? taken_ : std::string_view{};
  }

  /// Returns the number of elements of a list. A list that claims more elements
  /// than bytes are left is a mistake, so a caller may reserve memory for it.
  std::uint32_t count() {
    const auto count = number<std::uint32_t>();
    is_good_ = is_good_ && count <= bytes_.size();
    return is_good_ ? count : 0;
  }

  std::vector<std::string> texts() {
    std::vector<std::string> texts(count());
    for (std::string& one : texts)
      one = text();
    return texts;
  }

  bool is_good() const noexcept { return is_good_; }

  /// Whether all bytes are taken, and none was missing.
  bool is_at_end() const noexcept { return is_good_ && bytes_.empty(); }

 private:
  bool take(std::size_t size) {
    if (!is_good_ || size > bytes_.size()) {
      is_good_ = false;
      return false;
    }
    taken_ = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return true;
  }

  std::string_view bytes_;
  std::string_view taken_;
  bool is_good_ = true;
};

}  // namespace acp::protocol
