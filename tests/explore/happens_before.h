// Recognises schedules that differ only in the order of independent steps.
#pragma once

#include <cstdint>
#include <vector>

namespace explore {

/// A hash of the partial order of the steps so far.
///
/// 1. Two steps of one process are dependent. So are two steps that touch one
///    word, if at least one step writes it. All other steps are independent.
/// 2. The hash of a step is made of the hashes of the steps that it directly
///    depends on, and of nothing else.
/// 3. signature() is the sum over all steps. So it is equal for two schedules
///    that differ in the order of independent steps, and these lead to one
///    state.
///
/// Used by one thread.
class HappensBefore {
 public:
  HappensBefore();

  /// Forgets all steps.
  void clear();

  /// Begins a step of a process. Processes are small numbers.
  void begin(std::uint32_t process);
  void read(std::uint64_t word);
  void write(std::uint64_t word);
  void end();

  /// The running step begins another process.
  void fork(std::uint32_t process);

  std::uint64_t signature() const { return sum_; }

 private:
  struct Word {
    std::uint64_t key = 0;
    std::uint64_t stamp = 0;    ///< Schedule in which the entry is valid.
    std::uint64_t writer = 0;   ///< Hash of the newest step that wrote.
    std::uint64_t readers = 0;  ///< Sum of the steps that have read since.
  };

  struct Touch {
    std::uint32_t slot;
    bool is_write;
  };

  std::uint32_t slot_of(std::uint64_t word);
  void add(std::uint64_t number);

  std::vector<Word> words_;
  std::vector<std::uint64_t> newest_;  ///< Hash of each process's newest step.
  std::vector<Touch> touched_;         ///< Words of the running step.
  std::uint64_t stamp_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t running_ = 0;  ///< Hash of the running step so far.
  std::uint32_t process_ = 0;
};

}  // namespace explore
