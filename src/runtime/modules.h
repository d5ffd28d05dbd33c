// Modules of the layers above: what acp_init, acp_reset and acp_finalize call
// for them, and the library memory they asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "acp/extension.h"
#include "base/result.h"

namespace acp::runtime {

/// The modules of this process, in the order in which they were added. Added
/// before acp_init, by one thread; read-only afterwards.
class Modules {
 public:
  static constexpr std::size_t kMaxModules = 64;

  /// The module's number. kInvalidArgument, kNoMemory (too many).
  Result<int> add(const acpx_module_t& module);

  /// Gives each its place. kNoMemory, logged, when `available` bytes do not
  /// do.
  [[nodiscard]] Status lay_out(std::uint64_t available);

  /// Offset of a module's memory from the start of all modules' memory.
  /// kInvalidArgument.
  Result<std::uint64_t> offset(int module) const;

  /// Calls init in order; on failure fini of those before, and kSystem.
  [[nodiscard]] Status init() const;
  /// Calls fini in reverse order.
  void fini() const;

 private:
  struct Entry {
    acpx_module_t module;
    std::string name;
    std::uint64_t offset;
  };

  void fini_first(std::size_t count) const;

  std::vector<Entry> entries_;
};

}  // namespace acp::runtime
