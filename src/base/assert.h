// Checks of invariants of the library. A failed check is a bug in the library.
#pragma once

namespace acp {

/// Prints the condition that does not hold, and ends the process.
[[noreturn]] void assertion_failed(const char* condition,
                                   const char* file,
                                   int line) noexcept;

}  // namespace acp

/// Ends the process when `condition` is false, in release builds as well: the
/// library must not move data of its users on a false assumption.
#define ACP_ASSERT(condition)                        \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::acp::assertion_failed(#condition, __FILE__, __LINE__))
