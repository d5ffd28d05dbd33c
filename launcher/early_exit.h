// The reason why acprun ends before it starts anything.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace acp::launcher {

inline constexpr int kStatusTimeout = 124;
inline constexpr int kStatusLauncher = 125;
inline constexpr int kStatusCannotRun = 126;
inline constexpr int kStatusNotFound = 127;

/// With status 0 the text goes to standard output, as for --help. Otherwise it
/// is an error line without newline, or "" when the error is already logged.
struct EarlyExit {
  int status = kStatusLauncher;
  std::string text;
};

/// acprun cannot do what it was asked for; the text is the error line.
inline EarlyExit launcher_error(std::string text) {
  return {kStatusLauncher, std::move(text)};
}

template <typename T>
using OrExit = std::variant<T, EarlyExit>;

}  // namespace acp::launcher
