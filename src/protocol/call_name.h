// A name in shared memory, for people: of a public function, or of a count.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace acp::protocol {

/// The name of the function that a program waits in, for acprun.
/// The waiting thread writes it (relaxed), and acprun reads it at any time. A
/// name that changes while acprun reads it comes out mixed, which is harmless.
class CallName {
 public:
  /// Takes the first kBytes - 1 characters; nullptr is "".
  void set(const char* name) noexcept;
  std::string get() const;

 private:
  static constexpr std::size_t kBytes = 48;
  std::array<std::atomic<std::uint64_t>, kBytes / 8> words_;
};

}  // namespace acp::protocol
