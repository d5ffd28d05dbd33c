// Checks of the promises that this library makes to itself.
#pragma once

namespace acp {

/// Prints the broken promise and ends the process.
[[noreturn]] void assertion_failed(const char* condition,
                                   const char* file,
                                   int line) noexcept;

}  // namespace acp

/// Stays in release builds: a library that moves other people's data stops
/// rather than continues on a false assumption.
#define ACP_ASSERT(condition)                        \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::acp::assertion_failed(#condition, __FILE__, __LINE__))
