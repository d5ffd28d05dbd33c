// Lists of words, environments and numbers: pure functions. Called where a
// command line or an environment is made for another process. Pointers into a
// list may not outlive it.
#include "launcher/words.h"

#include <charconv>
#include <system_error>

namespace acp::launcher {

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words)
    pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::string_view name_in(std::string_view entry) {
  return entry.substr(0, entry.find('='));
}

std::string value_in(const std::vector<std::string>& environment,
                     std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && name_in(entry) == name)
      return entry.substr(name.size() + 1);
  }
  return "";
}

std::optional<std::uint32_t> number_in(std::string_view digits) {
  std::uint32_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [rest, failure] = std::from_chars(digits.data(), end, number);
  if (failure != std::errc{} || rest != end) return std::nullopt;
  return number;
}

std::optional<std::uint32_t> number_in(const char* digits) {
  return number_in(std::string_view(digits == nullptr ? "" : digits));
}

}  // namespace acp::launcher
