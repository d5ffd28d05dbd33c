// The only file that calls the networks' own folders, or loads the modules
// that have them. runtime::Task calls it while it joins the job. It may include
// no header of a network's folder.
#include "api/open_network.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>

#include "base/log.h"
#include "settings/module.h"
#include "settings/networks.h"
#include "settings/settings.h"

// Each folder defines its open_network(); no header of a folder is needed.
#define ACP_NETWORK(folder, name, ...) \
  namespace acp::folder {              \
  transport::OpenNetwork open_network; \
  }
#define ACP_MODULE_NETWORK(folder, name, ...)
#define ACP_MISSING_NETWORK(name)
#include "settings/networks.def"
#undef ACP_NETWORK

namespace acp::api {

namespace {

struct Opener {
  std::string_view name;  ///< A value of ACP_NET.
  transport::OpenNetwork* open;
};

constexpr Opener kOpeners[] = {
#define ACP_NETWORK(folder, name, ...) {name, folder::open_network},
#include "settings/networks.def"
#undef ACP_NETWORK
#undef ACP_MODULE_NETWORK
#undef ACP_MISSING_NETWORK
};

bool has_rdma_device() {
  std::error_code error;
  const std::filesystem::directory_iterator devices("/sys/class/infiniband",
                                                    error);
  return !error && devices != std::filesystem::directory_iterator();
}

/// The code of a module stays loaded, so the transport may outlive this call.
Result<std::unique_ptr<transport::Transport>> open_by_module(
    std::string_view name, const transport::NetworkContext& context) {
  const std::string& net = context.settings.text(SettingId::kNet);
  const LoadedModule module =
      load_module(name, context.settings.text(SettingId::kModulePath));
  if (module.table == nullptr) {
    log_error("network {}: {}", net, module.why);
    return Status::kUnsupported;
  }
  log(LogLevel::kDebug, "network {}: {}", net, module.path);
  return module.entry_point<transport::OpenNetwork>()(context);
}

}  // namespace

Result<std::unique_ptr<transport::Transport>> open_network(
    const transport::NetworkContext& context) {
  const std::string& net = context.settings.text(SettingId::kNet);
  // A host without devices is not worth a message, nor the time to load the
  // module.
  if (context.is_optional && net == kRdmaNetwork && !has_rdma_device()) {
    return Status::kUnsupported;
  }
  if (const auto module = module_of_network(net); !module.empty()) {
    return open_by_module(module, context);
  }
  const auto* const named = std::ranges::find(kOpeners, net, &Opener::name);
  return (named == std::end(kOpeners) ? kOpeners : named)->open(context);
}

}  // namespace acp::api
