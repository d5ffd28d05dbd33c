// The interface of a kernel's file: small programs of two or three threads over
// the product's code, and checks of its invariants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace kernels {

/// One program. Each schedule makes it anew, so its constructor is the set-up
/// of the schedule. All its memory is known to the explorer, because files with
/// programs are instrumented as the product's files are.
class Program {
 public:
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  virtual ~Program() = default;

  virtual std::size_t threads() const = 0;

  /// The body of a thread.
  virtual void run(std::size_t thread) = 0;

  /// After all threads have ended.
  virtual void check() {}
};

struct Case {
  const char* name;
  std::function<std::unique_ptr<Program>()> make;
  /// Departures from the default order; 0: the command line's number.
  int bound = 0;
};

/// A case of a program class.
template <typename P, typename... Arguments>
Case make_case(const char* name, int bound, Arguments... arguments) {
  return {name, [=] { return std::make_unique<P>(arguments...); }, bound};
}

/// The cases of this executable. Each kernel's file defines it.
std::vector<Case> all_cases();

/// Fails the schedule when `condition` does not hold. In threads and check().
void expect(bool condition, const char* invariant);

/// Gives memory a name for the table of a failing schedule. In constructors.
void name_memory(const volatile void* begin,
                 std::size_t bytes,
                 const std::string& name);

/// The core that sched_getcpu() returns in the thread. 0 at first.
void set_core(std::size_t thread, int core);

/// Runs the function of the thread that the product has started in the
/// constructor. In one thread of the program, which stands for that thread.
void run_started_thread();

/// Virtual time in ns. It passes only while all threads wait.
std::uint64_t virtual_now_ns();

/// A value of the test that the explorer does not see as memory. Threads may
/// access it without an order.
template <typename T>
class Unseen {
 public:
  __attribute__((noinline, no_sanitize("thread"))) T get() const {
    return value_;
  }

  __attribute__((noinline, no_sanitize("thread"))) void set(T value) {
    value_ = value;
  }

 private:
  T value_{};
};

/// Whether this schedule makes a table. Others need no names.
bool wants_names();

}  // namespace kernels
