// Every setting of the library, in one table. The library and acprun parse
// values by it, and acp_info prints the documentation from it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace acp {

/// What a setting's text has to look like.
enum class SettingKind : std::uint8_t {
  kText,    ///< Any text, checked by whoever uses it.
  kChoice,  ///< One of `choices`, separated there by '|'.
  kBytes,   ///< A number of bytes; K, M, G, T multiply by 1024 and so on.
  kNumber,  ///< A whole number.
};

/// One row of the table.
struct Setting {
  std::string_view name;    ///< Environment variable, "ACP_...".
  std::string_view option;  ///< The same for acprun and argv, or "".
  SettingKind kind;
  std::string_view default_value;
  std::string_view choices;   ///< kChoice only.
  std::uint64_t minimum = 0;  ///< kBytes and kNumber.
  std::uint64_t maximum = 0;
  std::string_view documentation;  ///< A sentence for users.
};

enum class SettingId : std::uint8_t {
  kNet,
  kShm,
  kStarterMemory,
  kHeapSize,
  kMallocCache,
  kMallocDebug,
  kChannelBuffer,
  kModuleMemory,
  kUdpAddresses,
  kUdpDatagram,
  kUdpSilence,
  kUdpFaults,
  kVerbsDevices,
  kVerbsAtomics,
  kVerbsAckTimeout,
  kVerbsRetries,
  kVerbsRnrTimer,
  kAtomics,
  kCma,
  kWait,
  kLog,
  kErrors,
  kStdout,
  kCount
};

/// The table, in the order of SettingId. Its rows stand in table.cc.
std::span<const Setting> settings_table() noexcept;

/// Where a value came from; acp_info prints it.
enum class SettingSource : std::uint8_t { kDefault, kEnvironment, kOption };

/// The values in force. A plain value: copy it, compare it.
class Settings {
 public:
  /// Looks up one environment variable; nullptr when it is not set.
  using Lookup = std::function<const char*(const char*)>;

  Settings();

  /// Reads every setting through `lookup`. On a bad value one log line says
  /// which variable, the value, and what is allowed; returns kBadOption.
  static Result<Settings> from_environment(const Lookup& lookup);

  /// Sets one value from text; kBadOption, logged, when it does not parse.
  [[nodiscard]] Status set(SettingId id,
                           std::string_view text,
                           SettingSource source);

  const std::string& text(SettingId id) const;
  /// kChoice only: which of the row's choices it is, from 0.
  std::uint64_t choice(SettingId id) const;
  /// kBytes and kNumber only.
  std::uint64_t number(SettingId id) const;
  SettingSource source(SettingId id) const;

 private:
  struct Value {
    std::string text;
    std::uint64_t number = 0;
    SettingSource source = SettingSource::kDefault;
  };

  std::array<Value, static_cast<std::size_t>(SettingId::kCount)> values_;
};

/// The setting whose acprun option ("--acp-envnet") this is, aliases
/// included; kCount when there is none.
SettingId setting_of_option(std::string_view option) noexcept;

/// The setting whose environment variable ("ACP_NET") this is; kCount when
/// there is none.
SettingId setting_named(std::string_view name) noexcept;

/// One warning for each variable in `environment` that starts with ACP_ and
/// is neither a setting nor a name that the library itself uses.
void warn_of_unknown_variables(char* const* environment);

}  // namespace acp
