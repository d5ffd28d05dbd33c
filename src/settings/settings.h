// Every setting of the library, in one table. The library and acprun parse
// values by it, and acp_info prints the documentation from it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "status/result.h"

namespace acp {

/// The form that the text of a setting must have.
enum class SettingKind : std::uint8_t {
  kText,    ///< Any text; the code that uses it checks it.
  kChoice,  ///< One of `choices`, which '|' separates.
  kBytes,   ///< A number of bytes; K, M, G, T multiply by 1024 and so on.
  kNumber,  ///< A whole number.
};

/// One row of the table.
struct Setting {
  std::string_view name;    ///< Environment variable, "ACP_...".
  std::string_view option;  ///< Option of acprun and of argv, or "".
  SettingKind kind;
  std::string_view default_value;
  std::string_view choices;   ///< Used by kChoice only.
  std::uint64_t minimum = 0;  ///< Used by kBytes and kNumber.
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
  kModulePath,
  kUdpInterfaces,
  kUdpSecurity,
  kUdpTags,
  kUdpDatagram,
  kUdpWindow,
  kUdpSilence,
  kUdpFaults,
  kStats,
  kCounters,
  kVerbsDevices,
  kVerbsRails,
  kVerbsAtomics,
  kVerbsWrites,
  kVerbsAckTimeout,
  kVerbsRetries,
  kVerbsRnrTimer,
  kVerbsTrafficClass,
  kUcxDevices,
  kUcxAtomics,
  kAddresses,
  kAtomics,
  kCma,
  kWait,
  kLog,
  kErrors,
  kStdout,
  kBootstrap,
  kInitTimeout,
  kCount
};

/// The table, in the order of SettingId. Its rows stand in table.cc.
std::span<const Setting> settings_table() noexcept;

/// The source that a value came from; acp_info prints it.
enum class SettingSource : std::uint8_t { kDefault, kEnvironment, kOption };

/// The values in force. A plain value that can be copied.
class Settings {
 public:
  /// Looks up one environment variable; nullptr when it is not set.
  using Lookup = std::function<const char*(const char*)>;

  Settings();

  /// Reads every setting through `lookup`. A bad value gives kBadOption, after
  /// a log line with the variable, the value and the permitted values.
  static Result<Settings> from_environment(const Lookup& lookup);

  /// Sets one value from text. Fails with kBadOption, logged, when the text
  /// does not have the form of the setting.
  [[nodiscard]] Status set(SettingId id,
                           std::string_view text,
                           SettingSource source);

  const std::string& text(SettingId id) const;
  /// The index of the value among the choices of the row. kChoice only.
  std::uint64_t choice(SettingId id) const;
  /// The value as a number. kBytes and kNumber only.
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

/// Finds a setting by its acprun option ("--acp-envnet") or an alias of it;
/// kCount when there is none.
SettingId setting_of_option(std::string_view option) noexcept;

/// Finds a setting by its environment variable ("ACP_NET"); kCount when there
/// is none.
SettingId setting_named(std::string_view name) noexcept;

/// Logs a warning for each variable in `environment` that begins with ACP_ but
/// is neither a setting nor a name that the library itself uses.
void warn_of_unknown_variables(char* const* environment);

}  // namespace acp
