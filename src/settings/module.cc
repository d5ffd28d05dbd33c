// Finds, checks and attaches shared modules. Called when a network of a module
// is opened, when a job runs under PMIx, and by acp_info. A module of another
// build may not be used, and none is ever unloaded.
#include "settings/module.h"

#include <dlfcn.h>
#include <fmt/core.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/default_variable.h"
#include "base/immortal.h"
#include "base/join_texts.h"
#include "module_interface.h"

namespace acp {

namespace {

constexpr char kVersion[] = ACP_VERSION;

/// The folder of the library or program that this code is linked into. The
/// linker knows a program by the word that has started it, which has no folder
/// when the program was found in PATH.
std::string own_folder() {
  Dl_info info{};
  if (::dladdr(kVersion, &info) == 0 || info.dli_fname == nullptr) {
    return "";
  }
  std::filesystem::path file = info.dli_fname;
  if (!file.has_parent_path()) {
    std::error_code ignored;
    file = std::filesystem::read_symlink("/proc/self/exe", ignored);
  }
  return file.parent_path();
}

/// The folders in which a module is looked for, in this order, each once.
std::vector<std::string> folders_to_search(std::string_view folders) {
  std::vector<std::string> list;
  const auto add = [&](std::string folder) {
    if (std::ranges::find(list, folder) == list.end()) {
      list.push_back(std::move(folder));
    }
  };
  while (!folders.empty()) {
    const std::string_view one = folders.substr(0, folders.find(':'));
    folders.remove_prefix(std::min(one.size() + 1, folders.size()));
    if (!one.empty()) {
      add(std::string(one));
    }
  }
  if (const std::string own = own_folder(); !own.empty()) {
    add(own);
    add(own + "/../" ACP_LIBRARY_FOLDER);
    add(own + "/../lib");
  }
  return list;
}

/// A program without a dynamic linker has one C library inside. A module would
/// bring a second one.
bool is_static_program() {
  int libraries = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* count) {
        *static_cast<int*>(count) += info->dlpi_name[0] == '/' ? 1 : 0;
        return 0;
      },
      &libraries);
  return libraries == 0;
}

std::string last_dl_error() {
  const char* text = ::dlerror();
  return text == nullptr ? "unknown error" : text;
}

std::string not_found(std::string_view name,
                      const std::vector<std::string>& searched) {
  return fmt::format(
      "libacp-{0}.so was not found in {1}, nor where the dynamic linker looks: "
      "install the package acp-{0}, or name the folder of the file in "
      "ACP_MODULE_PATH",
      name, join_texts(searched, ", "));
}

/// Opens the file. A library that the module needs and that is missing is the
/// usual failure; the linker's text names it. UCX writes log lines to standard
/// output, where they would mix with the program's, unless this variable says
/// otherwise. It reads the variable once, while the linker loads it.
LoadedModule open_file(std::string_view name, const std::string& path) {
  LoadedModule module{.path = path};
  const DefaultVariable log_of_ucx("UCX_LOG_FILE", "stderr");
  void* const handle =
      ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    module.why = fmt::format(
        "{}: install the library that is missing there, or the package acp-{} "
        "again",
        last_dl_error(), name);
    return module;
  }
  const auto* const table =
      static_cast<const ModuleTable*>(::dlsym(handle, "acp_module"));
  if (table == nullptr) {
    module.why =
        fmt::format("{} is no module of ACP: {}", path, last_dl_error());
  } else if (std::strcmp(table->stamp(), module_stamp()) != 0) {
    module.why = fmt::format(
        "{} is of ACP {}, and this is ACP {}: install the package acp-{} of "
        "the same version, or build the module again together with libacp",
        path, table->stamp(), module_stamp(), name);
  } else {
    module.table = table;
    Dl_info info{};
    if (::dladdr(table, &info) != 0) {
      module.path = info.dli_fname;  // where the linker has found it
    }
  }
  return module;
}

}  // namespace

const char* module_stamp() noexcept {
  static const Immortal<std::string> stamp(
      fmt::format("{} (interface {})", kVersion, ACP_MODULE_INTERFACE));
  return (*stamp).c_str();
}

void attach_module(const ModuleHost& host) noexcept {
  forward_log(host.log_level, host.log_line);
}

/// A file with the module's name ends the search, also when it cannot be used.
/// The user should hear of that file, and not get another one.
LoadedModule load_module(std::string_view name, std::string_view folders) {
  if (is_static_program()) {
    return {.why = fmt::format(
                "a program that is linked with -static loads no modules: link "
                "it without, or without the network of libacp-{}.so",
                name)};
  }
  const std::vector<std::string> searched = folders_to_search(folders);
  const std::string file = fmt::format("libacp-{}.so", name);
  LoadedModule module;
  for (const std::string& folder : searched) {
    const std::string path = fmt::format("{}/{}", folder, file);
    if (::access(path.c_str(), F_OK) == 0) {
      module = open_file(name, path);
      break;
    }
  }
  if (module.path.empty()) {
    module = open_file(name, file);
    if (module.why.find(file + ": cannot open") != std::string::npos) {
      module = {.why = not_found(name, searched)};
    }
  }
  if (module.table != nullptr) {
    module.table->attach({log_level(), log_line});
  }
  return module;
}

void warn_of_missing_folders(std::string_view folders) {
  while (!folders.empty()) {
    const std::string one(folders.substr(0, folders.find(':')));
    folders.remove_prefix(std::min(one.size() + 1, folders.size()));
    std::error_code ignored;
    if (!one.empty() && !std::filesystem::is_directory(one, ignored)) {
      log_warning("ACP_MODULE_PATH: {} is no folder here", one);
    }
  }
}

}  // namespace acp
