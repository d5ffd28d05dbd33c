// The launchers' operator new. A launcher has nothing to go on with when it
// gets no memory, in whatever call. So it says how much was refused, and ends.
// Its keeper then ends the ranks, as after any other end of it. A keeper ends
// like this as well, and acprun then ends the ranks. Linked into acprun and
// macprun alone. Allocates nothing itself.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>

#include "base/log.h"
#include "launcher/early_exit.h"

namespace {

[[noreturn]] void end_without_memory(std::size_t bytes) noexcept {
  std::array<char, 200> text{};
  const auto formatted = fmt::format_to_n(
      text.data(), text.size(),
      "error: no memory: the system refuses {} bytes; the job ends", bytes);
  acp::log_last_words({text.data(), std::min(formatted.size, text.size())});
  acp::deliver_log(acp::kLastLinesLimit);
  ::_exit(acp::launcher::kStatusLauncher);
}

}  // namespace

// NOLINTBEGIN(*-no-malloc, *-owning-memory): these are new and delete

void* operator new(std::size_t bytes) {
  if (void* memory = std::malloc(std::max<std::size_t>(bytes, 1))) {
    return memory;
  }
  end_without_memory(bytes);
}

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto align = static_cast<std::size_t>(alignment);
  const std::size_t size = (std::max(bytes, align) + align - 1) / align * align;
  if (void* memory = std::aligned_alloc(align, size)) {
    return memory;
  }
  end_without_memory(bytes);
}

/// Callers of this one can do without.
void* operator new(std::size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  return std::malloc(std::max<std::size_t>(bytes, 1));
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t /*bytes*/) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}

void operator delete(void* memory,
                     std::size_t /*bytes*/,
                     std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}

// NOLINTEND(*-no-malloc, *-owning-memory)
