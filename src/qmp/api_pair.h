// Defines both functions of a pair of qmp.h by one text: QMP_comm_NAME acts on
// the communicator `comm`, and QMP_NAME acts on the default communicator. Used
// in the *_api.cc files, inside extern "C".
#pragma once

#include "qmp.h"

// NOLINTBEGIN(bugprone-macro-parentheses): they are types, names and lists

/// Stands where the first line of a function stands; the body of both functions
/// follows. In the body, `function` is the name of the one that the program has
/// called, for error lines, and `comm` is the communicator. `arguments` are the
/// names of the parameters behind `comm`, in parentheses; the declarations of
/// these parameters come last.
///
///   QMP_API_PAIR(QMP_status_t, sum_int, (value), int* value) { ... }
#define QMP_API_PAIR(result, name, arguments, ...)                         \
  static result name##_on(const char* function,                            \
                          QMP_comm_t comm __VA_OPT__(, ) __VA_ARGS__);     \
  result QMP_##name(__VA_ARGS__) {                                         \
    return name##_on("QMP_" #name,                                         \
                     QMP_comm_get_default() QMP_API_PAIR_LIST arguments);  \
  }                                                                        \
  result QMP_comm_##name(QMP_comm_t comm __VA_OPT__(, ) __VA_ARGS__) {     \
    return name##_on("QMP_comm_" #name, comm QMP_API_PAIR_LIST arguments); \
  }                                                                        \
  static result name##_on([[maybe_unused]] const char* function,           \
                          QMP_comm_t comm __VA_OPT__(, ) __VA_ARGS__)

/// A list of arguments with a comma in front, or nothing.
#define QMP_API_PAIR_LIST(...) __VA_OPT__(, ) __VA_ARGS__

// NOLINTEND(bugprone-macro-parentheses)
