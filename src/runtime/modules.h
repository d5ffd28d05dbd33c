// Modules: parts of the layers above that acp_init, acp_reset and acp_finalize
// call, and the library memory that each of them has asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "acp/extension.h"
#include "base/log.h"
#include "status/result.h"

namespace acp::runtime {

/// The modules of this process: the library's own, then the program's, each
/// in the order in which they were added. One thread at a time.
class Modules {
 public:
  /// Most modules of a program. Modules of the library are numbered from
  /// kMaxModules on.
  static constexpr std::size_t kMaxModules = 64;

  /// The module's number, from 0. kInvalidArgument, kNoMemory (too many).
  Result<int> add(const acpx_module_t& module);

  /// Adds a module of the library itself; numbers start at kMaxModules. These
  /// modules come before the program's in memory and in the order of calls,
  /// although acp_init adds them later.
  Result<int> add_own(const acpx_module_t& module);

  /// Forgets the library's own modules, for another acp_init.
  void clear_own();

  /// Gives memory to each module that has none. kNoMemory, logged, when
  /// `available` bytes are too few for all.
  [[nodiscard]] Status lay_out(std::uint64_t available);

  /// A hash of names, sizes and order: equal on ranks with the same modules.
  std::uint64_t fingerprint() const;

  /// Offset of a module's memory from the start of all modules' memory.
  /// kInvalidArgument.
  Result<std::uint64_t> offset(int module) const;

  /// Calls the init functions of the modules that have not begun, in order.
  /// When one fails, calls the fini functions of the modules that this call has
  /// begun, and returns kSystem, logged.
  [[nodiscard]] Status init();
  /// Calls the fini functions of the modules that have begun, in reverse order.
  /// A failure is logged at `level`.
  void fini(LogLevel level = LogLevel::kWarning);
  /// Does so for the program's modules alone.
  void fini_of_program();

 private:
  struct Entry {
    acpx_module_t module;
    std::string name;
    std::uint64_t offset = 0;
    bool has_memory = false;
    bool has_begun = false;
  };

  static Result<int> add_to(std::vector<Entry>& entries,
                            const acpx_module_t& module);
  static void end(Entry& entry, LogLevel level);

  std::vector<Entry> own_;      ///< Modules of the library.
  std::vector<Entry> entries_;  ///< Modules of the program.
  std::uint64_t laid_out_ = 0;  ///< Bytes that modules have.
};

}  // namespace acp::runtime
