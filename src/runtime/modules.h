// Modules of the layers above: what acp_init, acp_reset and acp_finalize call
// for them, and the library memory they asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "acp/extension.h"
#include "base/log.h"
#include "base/result.h"

namespace acp::runtime {

/// The modules of this process: the library's own, then the program's, each
/// in the order in which they were added. Added before the task is made, by
/// one thread; read-only afterwards.
class Modules {
 public:
  static constexpr std::size_t kMaxModules = 64;

  /// The module's number, from 0. kInvalidArgument, kNoMemory (too many).
  Result<int> add(const acpx_module_t& module);

  /// The same for one of the library's own, from kMaxModules. They come first
  /// in every respect, though acp_init adds them when the program's have their
  /// numbers already.
  Result<int> add_own(const acpx_module_t& module);

  /// Forgets the library's own, for another acp_init.
  void clear_own() { own_.clear(); }

  /// Gives each its place. kNoMemory, logged, when `available` bytes do not
  /// do.
  [[nodiscard]] Status lay_out(std::uint64_t available);

  /// Tells whether two ranks have the same modules: names, sizes and order.
  std::uint64_t fingerprint() const;

  /// Offset of a module's memory from the start of all modules' memory.
  /// kInvalidArgument.
  Result<std::uint64_t> offset(int module) const;

  /// Calls init in order; on failure fini of those before, and kSystem.
  [[nodiscard]] Status init() const;
  /// Calls fini in reverse order. A failure is logged at this level.
  void fini(LogLevel level = LogLevel::kWarning) const;

 private:
  struct Entry {
    acpx_module_t module;
    std::string name;
    std::uint64_t offset;
  };

  static Result<int> add_to(std::vector<Entry>& entries,
                            const acpx_module_t& module);
  std::vector<const Entry*> in_order() const;
  static void fini_first(const std::vector<const Entry*>& entries,
                         std::size_t count,
                         LogLevel level);

  std::vector<Entry> own_;
  std::vector<Entry> entries_;
};

}  // namespace acp::runtime
