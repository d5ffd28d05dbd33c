// Shared modules: parts of ACP in files of their own, which need libraries that
// not every machine has. libacp-NAME.so is loaded when the part is used.
//
// A module has a copy of the code of the lower layers that it uses. It gets
// objects of libacp by the arguments of its entry point, and calls them through
// headers that both were compiled with. So a module works only with a libacp of
// the same headers, which its stamp shows.
#pragma once

#include <string>
#include <string_view>

#include "base/log.h"
#include "base/log_forward.h"

namespace acp {

/// The parts of the loading program that a module calls.
struct ModuleHost {
  LogLevel log_level = LogLevel::kWarning;
  LogLine log_line = nullptr;
};

/// A module exports one object of this type, `acp_module`, made by ACP_MODULE.
/// `stamp` stays the first field for ever, because the loader reads it in
/// modules of any version.
struct ModuleTable {
  const char* (*stamp)() noexcept;
  void (*attach)(const ModuleHost& host) noexcept;
  /// The module's function. The name of a module implies its type, and the
  /// loader's caller casts it back.
  void (*entry_point)();
};

/// The version of ACP, and a hash of all that libacp and its modules share
/// (tools/cmake/module_interface.txt), as the caller was compiled with them. So
/// it also differs between two builds of one version whose headers differ.
const char* module_stamp() noexcept;

/// In a module: from now on log lines go to the host.
void attach_module(const ModuleHost& host) noexcept;

/// The result of load_module().
struct LoadedModule {
  const ModuleTable* table = nullptr;  ///< Null: `why` has the reason.
  std::string path{};  ///< The file that was loaded or refused; may be empty.
  std::string why{};   ///< The reason and the remedy; empty when loaded.

  template <typename Function>
  Function* entry_point() const {
    return reinterpret_cast<Function*>(table->entry_point);
  }
};

/// Loads libacp-NAME.so, for good; loading it again gives the same table. Looks
/// in `folders` (separated by colons), and beside the library that calls. Then
/// it looks in the library folder of an installation whose programs are beside
/// the caller, and where the dynamic linker looks. The first file of that name
/// decides. Logs nothing. Not for use beside fork().
LoadedModule load_module(std::string_view name, std::string_view folders);

/// Logs a warning for each of `folders`, separated by colons as in
/// ACP_MODULE_PATH, that is no folder of this host.
void warn_of_missing_folders(std::string_view folders);

}  // namespace acp

/// Defines the object by which a module is found. Stands once in a module,
/// outside of namespaces.
#define ACP_MODULE(function)                        \
  extern "C" __attribute__((visibility("default"))) \
  const acp::ModuleTable acp_module;                \
  const acp::ModuleTable acp_module = {             \
      acp::module_stamp, acp::attach_module,        \
      reinterpret_cast<void (*)()>(&(function))}
