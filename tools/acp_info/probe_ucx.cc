// Asks UCX for its transports and their devices, for the transports with
// atomics of 8 bytes, and opens those that the user's settings leave. Called by
// facts.cc. acp_info does not link UCX and runs without UCX: the functions come
// from the libraries that libacp-ucx.so has loaded.
#include <fmt/core.h>
#include <uct/api/uct.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <ucp/api/ucp.h>
#include <ucs/async/async_fwd.h>
#include <ucs/config/global_opts.h>

#include "base/join_texts.h"
#include "loaded_function.h"
#include "probes.h"

namespace acp::info {

namespace {

/// The functions of UCX that the probe calls.
#define ACP_UCX_FUNCTIONS(X)           \
  X(ucp, ucp_get_version_string)       \
  X(ucp, ucp_config_read)              \
  X(ucp, ucp_config_modify)            \
  X(ucp, ucp_config_release)           \
  X(ucp, ucp_init_version)             \
  X(ucp, ucp_context_print_info)       \
  X(ucp, ucp_cleanup)                  \
  X(ucs, ucs_status_string)            \
  X(ucs, ucs_global_opts_set_value)    \
  X(ucs, ucs_async_context_create)     \
  X(ucs, ucs_async_context_destroy)    \
  X(uct, uct_query_components)         \
  X(uct, uct_release_component_list)   \
  X(uct, uct_component_query)          \
  X(uct, uct_config_release)           \
  X(uct, uct_md_config_read)           \
  X(uct, uct_md_open)                  \
  X(uct, uct_md_close)                 \
  X(uct, uct_md_query_tl_resources)    \
  X(uct, uct_release_tl_resource_list) \
  X(uct, uct_md_iface_config_read)     \
  X(uct, uct_worker_create)            \
  X(uct, uct_worker_destroy)           \
  X(uct, uct_iface_open)               \
  X(uct, uct_iface_query)              \
  X(uct, uct_iface_close)

struct Ucx {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a member has no parentheses.
#define ACP_MEMBER(library, name) decltype(&::name) name = nullptr;
  ACP_UCX_FUNCTIONS(ACP_MEMBER)
#undef ACP_MEMBER
  bool is_complete = true;

  Ucx() {
    void* const ucp = loaded_library("libucp.so.0");
    void* const ucs = loaded_library("libucs.so.0");
    void* const uct = loaded_library("libuct.so.0");
#define ACP_LOAD(library, name) \
  is_complete = find_loaded(library, #name, name) && is_complete;
    ACP_UCX_FUNCTIONS(ACP_LOAD)
#undef ACP_LOAD
  }
};

/// Devices of a transport, and the executors of atomics.
struct Transport {
  std::vector<std::string> devices;
  bool has_device_atomics = false;
  bool has_cpu_atomics = false;
};

/// By names, such as "tcp" and "rc_verbs".
using Transports = std::map<std::string, Transport>;

/// Opens an interface and notes the executor of atomics of 8 bytes.
void ask_for_atomics(const Ucx& ucx,
                     uct_md_h domain,
                     uct_worker_h worker,
                     const uct_tl_resource_desc_t& resource,
                     Transport& transport) {
  uct_iface_config_t* config = nullptr;
  if (ucx.uct_md_iface_config_read(domain, resource.tl_name, nullptr, nullptr,
                                   &config) != UCS_OK) {
    return;
  }
  uct_iface_params_t params{};
  params.field_mask =
      UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE;
  params.open_mode = UCT_IFACE_OPEN_MODE_DEVICE;
  params.mode.device.tl_name = resource.tl_name;
  params.mode.device.dev_name = resource.dev_name;
  uct_iface_h interface = nullptr;
  if (ucx.uct_iface_open(domain, worker, &params, config, &interface) ==
      UCS_OK) {
    uct_iface_attr_t facts{};
    if (ucx.uct_iface_query(interface, &facts) == UCS_OK &&
        facts.cap.atomic64.fop_flags != 0) {
      transport.has_device_atomics |=
          (facts.cap.flags & UCT_IFACE_FLAG_ATOMIC_DEVICE) != 0;
      transport.has_cpu_atomics |=
          (facts.cap.flags & UCT_IFACE_FLAG_ATOMIC_CPU) != 0;
    }
    ucx.uct_iface_close(interface);
  }
  ucx.uct_config_release(config);
}

/// Adds the transports of a memory domain.
void ask_domain(const Ucx& ucx,
                uct_component_h component,
                const char* name,
                uct_worker_h worker,
                Transports& all) {
  uct_md_config_t* config = nullptr;
  if (ucx.uct_md_config_read(component, nullptr, nullptr, &config) != UCS_OK) {
    return;
  }
  uct_md_h domain = nullptr;
  const ucs_status_t opened = ucx.uct_md_open(component, name, config, &domain);
  ucx.uct_config_release(config);
  if (opened != UCS_OK) {
    return;
  }
  uct_tl_resource_desc_t* resources = nullptr;
  unsigned count = 0;
  if (ucx.uct_md_query_tl_resources(domain, &resources, &count) == UCS_OK) {
    for (unsigned i = 0; i < count; ++i) {
      Transport& transport = all[resources[i].tl_name];
      transport.devices.emplace_back(resources[i].dev_name);
      ask_for_atomics(ucx, domain, worker, resources[i], transport);
    }
    ucx.uct_release_tl_resource_list(resources);
  }
  ucx.uct_md_close(domain);
}

/// Adds the transports of a component, in each of its memory domains.
void ask_component(const Ucx& ucx,
                   uct_component_h component,
                   uct_worker_h worker,
                   Transports& all) {
  uct_component_attr_t facts{};
  facts.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
  if (ucx.uct_component_query(component, &facts) != UCS_OK) {
    return;
  }
  std::vector<uct_md_resource_desc_t> domains(facts.md_resource_count);
  facts.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
  facts.md_resources = domains.data();
  if (ucx.uct_component_query(component, &facts) != UCS_OK) {
    return;
  }
  for (const uct_md_resource_desc_t& domain : domains) {
    ask_domain(ucx, component, domain.md_name, worker, all);
  }
}

/// Asks all components of UCX, with a worker that lasts until the last answer.
Transports find_transports(const Ucx& ucx) {
  Transports all;
  ucs_async_context_t* context = nullptr;
  uct_worker_h worker = nullptr;
  uct_component_h* components = nullptr;
  unsigned count = 0;
  if (ucx.ucs_async_context_create(UCS_ASYNC_MODE_POLL, &context) != UCS_OK) {
    return all;
  }
  if (ucx.uct_worker_create(context, UCS_THREAD_MODE_SINGLE, &worker) ==
      UCS_OK) {
    if (ucx.uct_query_components(&components, &count) == UCS_OK) {
      for (unsigned i = 0; i < count; ++i) {
        ask_component(ucx, components[i], worker, all);
      }
      ucx.uct_release_component_list(components);
    }
    ucx.uct_worker_destroy(worker);
  }
  ucx.ucs_async_context_destroy(context);
  return all;
}

/// "tcp (eth0, lo)". A device is left out where its name says nothing more.
std::string describe(const std::string& name, const Transport& transport) {
  return transport.devices == std::vector<std::string>{"memory"}
             ? name
             : fmt::format("{} ({})", name,
                           join_texts(transport.devices, ", "));
}

/// The resources that a context of UCX has opened, as "tcp/lo, self/memory0".
/// UCX tells them as text only: the last word of lines with "resource".
std::string opened_by(const Ucx& ucx, ucp_context_h context) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const stream = ::open_memstream(&text, &size);
  if (stream == nullptr) {
    return {};
  }
  ucx.ucp_context_print_info(context, stream);
  std::fclose(stream);
  const std::unique_ptr<char, decltype(&std::free)> owner(text, std::free);
  std::istringstream lines(text);
  std::vector<std::string> resources;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" resource ") != std::string::npos) {
      resources.push_back(line.substr(line.find_last_of(' ') + 1));
    }
  }
  return join_texts(resources, ", ");
}

/// Opens the transports that the settings leave, as acp_init does for a color.
/// `devices` is a list as in UCX_NET_DEVICES, or empty.
Probe try_settings(const Ucx& ucx, const std::string& devices) {
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucx.ucp_config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) {
    return {false,
            fmt::format("ucp_config_read: {}", ucx.ucs_status_string(status))};
  }
  if (!devices.empty()) {
    status = ucx.ucp_config_modify(config, "NET_DEVICES", devices.c_str());
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_AMO32 |
                    UCP_FEATURE_AMO64 | UCP_FEATURE_WAKEUP;
  ucp_context_h context = nullptr;
  if (status == UCS_OK) {
    status = ucx.ucp_init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config,
                                  &context);
  }
  ucx.ucp_config_release(config);
  if (status != UCS_OK) {
    return {false, fmt::format("ucp_init: {}", ucx.ucs_status_string(status))};
  }
  const std::string opened = opened_by(ucx, context);
  ucx.ucp_cleanup(context);
  return {true, opened};
}

/// "UCX_TLS=tcp, UCX_NET_DEVICES=lo": the settings that are set, which
/// choose among UCX's transports. Empty when none is.
std::string settings_text(const std::string& lists) {
  std::vector<std::string> set;
  for (const char* name : {"UCX_TLS", "UCX_NET_DEVICES"}) {
    if (const char* value = std::getenv(name); value != nullptr) {
      set.push_back(fmt::format("{}={}", name, value));
    }
  }
  if (!lists.empty()) {
    set.push_back(fmt::format("ACP_UCX_DEVICES={}", lists));
  }
  return join_texts(set, ", ");
}

/// Tries the lists of devices of all colors: each has to leave a transport.
Probe try_lists(const Ucx& ucx, const std::string& lists) {
  Probe all{true, ""};
  std::istringstream rest(lists);
  std::string list;
  std::getline(rest, list, ';');  // an empty text is one list, an empty one
  do {
    const Probe one = try_settings(ucx, list);
    all.works = all.works && one.works;
    all.detail += (all.detail.empty() ? "" : "; ") + one.detail;
  } while (std::getline(rest, list, ';'));
  return all;
}

}  // namespace

/// First collects what UCX finds on this host, and then tries what the settings
/// leave of it. A failure shows both, because the user compares them.
Probe probe_ucx(const std::string& lists) {
  const Ucx ucx;
  if (!ucx.is_complete) {
    return {true,
            "this version of UCX does not say what it finds; ucx_info -d "
            "does"};
  }
  // Its warnings are no facts. It has read the environment when it was loaded.
  if (std::getenv("UCX_LOG_LEVEL") == nullptr) {
    ucx.ucs_global_opts_set_value("LOG_LEVEL", "fatal");
  }
  const Transports all = find_transports(ucx);
  std::vector<std::string> found;
  std::vector<std::string> by_device;
  std::vector<std::string> by_cpu;
  for (const auto& [name, transport] : all) {
    found.push_back(describe(name, transport));
    if (transport.has_device_atomics) by_device.push_back(name);
    if (transport.has_cpu_atomics) by_cpu.push_back(name);
  }
  const auto list = [](const std::vector<std::string>& names) {
    return names.empty() ? std::string("none") : join_texts(names, ", ");
  };
  const std::string facts = fmt::format(
      "UCX {}: {}; atomics by devices: {}; by CPUs: {}",
      ucx.ucp_get_version_string(), list(found), list(by_device), list(by_cpu));
  const std::string settings = settings_text(lists);
  if (found.empty() || settings.empty()) {
    return {!found.empty(), facts};
  }
  const Probe chosen = try_lists(ucx, lists);
  return {chosen.works,
          chosen.works
              ? fmt::format("{}; {} leaves {}", facts, settings, chosen.detail)
              : fmt::format("{} leaves nothing: {}; here is {}", settings,
                            chosen.detail, facts)};
}

}  // namespace acp::info
