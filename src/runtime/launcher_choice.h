// Which launcher has started this process, by the variables that launchers set
// in the environment.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace acp::runtime {

/// The values of the setting ACP_BOOTSTRAP, in its order.
enum class Provider : std::uint8_t {
  kAuto,
  kAcprun,
  kPmi1,
  kPmi2,
  kPmix,
  kSingle,
};

/// The result of choose_provider(). A plain value.
struct ProviderChoice {
  Provider provider = Provider::kSingle;  ///< Never kAuto.
  /// Not "": another launcher started several processes, and none of its
  /// interfaces is there. It says how to start the program instead.
  std::string refusal;
};

/// Pure. `wanted` is the setting; `lookup` finds an environment variable, or
/// nullptr. acprun comes first: a job of acprun may run inside another
/// launcher's. A variable of a launcher that has started one process only is no
/// reason to refuse.
ProviderChoice choose_provider(
    Provider wanted, const std::function<const char*(const char*)>& lookup);

}  // namespace acp::runtime
