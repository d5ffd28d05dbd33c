// The only place that calls the networks' own folders. runtime::Task calls it
// while it joins the job.
#include "api/open_network.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "settings/settings.h"

// Each folder defines its open_network(); no header of a folder is needed.
#define ACP_NETWORK(folder, name, scope) \
  namespace acp::folder {                \
  transport::OpenNetwork open_network;   \
  }
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
#define ACP_NETWORK(folder, name, scope) {name, folder::open_network},
#include "settings/networks.def"
#undef ACP_NETWORK
#undef ACP_MISSING_NETWORK
};

}  // namespace

Result<std::unique_ptr<transport::Transport>> open_network(
    const transport::NetworkContext& context) {
  const std::string& net = context.settings.text(SettingId::kNet);
  const auto* const named = std::ranges::find(kOpeners, net, &Opener::name);
  return (named == std::end(kOpeners) ? kOpeners : named)->open(context);
}

}  // namespace acp::api
