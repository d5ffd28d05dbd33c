// The code of one rank: a copy of the middle layer with a program above it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "acp/extension.h"

namespace explore {

class Program;

/// A shared object that is loaded once for each rank, from a file of its own.
/// So the state that a process has once exists once for each rank. The explorer
/// has the functions of the basic layer that it calls.
class RankImage {
 public:
  /// Loads the file. Ends the process when that fails.
  explicit RankImage(const std::string& path);
  RankImage(const RankImage&) = delete;
  RankImage& operator=(const RankImage&) = delete;
  ~RankImage() = default;

  /// A range of memory that the code of the rank writes.
  struct Range {
    void* begin;
    std::size_t bytes;
  };

  /// Variables of the image, in whole pages.
  const std::vector<Range>& variables() const { return variables_; }

  /// The thread-local variables of the image, for this thread.
  Range thread_variables() const { return thread_variables_; }

  /// acp::middle::add_modules of the image.
  int add_modules(int (*add)(const acpx_module_t*)) const {
    return add_modules_(add);
  }

  /// spmd::run_chosen of an image with a conformance program.
  int run_cases(int argc, char** argv) const { return run_cases_(argc, argv); }

  /// The program for a kind of structure, or null.
  Program* program(const char* structure) const { return program_(structure); }

  /// Has the rank know all heaps, and keep blocks of them if it has a cache.
  void warm_up() const { warm_up_(); }

  /// Says which thread of the rank the caller is: 0 or 1.
  void begin_thread(int number) const { begin_thread_(number); }

  /// Returns all blocks that the rank keeps.
  void trim() const { trim_(); }

  /// Whether a block of that size can be allocated on a rank.
  bool is_heap_free(int rank, std::size_t bytes) const {
    return is_heap_free_(rank, bytes) != 0;
  }

 private:
  std::vector<Range> variables_;
  Range thread_variables_{};
  int (*add_modules_)(int (*)(const acpx_module_t*)) = nullptr;
  // An image has the first function, or all but the first.
  int (*run_cases_)(int, char**) = nullptr;
  Program* (*program_)(const char*) = nullptr;
  void (*begin_thread_)(int) = nullptr;
  void (*warm_up_)() = nullptr;
  void (*trim_)() = nullptr;
  int (*is_heap_free_)(int, std::size_t) = nullptr;
};

}  // namespace explore
