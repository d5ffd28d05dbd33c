// Writes and reads the names of waiting calls. The library writes one when a
// wait begins, the launcher reads it at any time. Neither may block the other.
#include "protocol/call_name.h"

#include <cstring>

namespace acp::protocol {

void CallName::set(const char* name) noexcept {
  std::array<char, kBytes> text{};
  if (name != nullptr) {
    std::strncpy(text.data(), name, text.size() - 1);
  }
  for (std::size_t i = 0; i < words_.size(); ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + 8 * i, sizeof word);
    words_[i].store(word, std::memory_order_relaxed);
  }
}

std::string CallName::get() const {
  std::array<char, kBytes + 1> text{};
  for (std::size_t i = 0; i < words_.size(); ++i) {
    const std::uint64_t word = words_[i].load(std::memory_order_relaxed);
    std::memcpy(text.data() + 8 * i, &word, sizeof word);
  }
  return text.data();
}

}  // namespace acp::protocol
