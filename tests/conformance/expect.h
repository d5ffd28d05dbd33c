// Checks of programs with a main() of their own, which go on after a failure.
#pragma once

#include <cstdio>

#include "acp.h"

inline int g_failures = 0;

inline void expect(bool is_right,
                   const char* text,
                   const char* file,
                   int line) {
  if (!is_right) {
    std::fprintf(stderr, "%s:%d: %s (acp_errno %d)\n", file, line, text,
                 acp_errno);
    ++g_failures;
  }
}

#define EXPECT(condition) expect((condition), #condition, __FILE__, __LINE__)

/// The call returns `failure`, with this number in acp_errno.
#define EXPECT_FAILURE(call, failure, code)                 \
  do {                                                      \
    acp_errno = 0;                                          \
    EXPECT((call) == (failure));                            \
    expect(acp_errno == (code), #call, __FILE__, __LINE__); \
  } while (false)
