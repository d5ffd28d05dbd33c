// The values in force: parses them, checks them, finds them by name or option.
// Called by acp_init, the launcher and acp_info. It reads variables by the
// caller's function alone, and a bad value changes no setting.
#include "settings/settings.h"

#include <utility>

#include "base/byte_count.h"
#include "base/log.h"
#include "settings/networks.h"

namespace acp {

namespace {

constexpr std::array<std::pair<std::string_view, SettingId>, 2> kOptionAliases =
    {{{"--acp-envent", SettingId::kNet}, {"--acp-net", SettingId::kNet}}};

/// ACP_NET accepts several names for a network; the table knows one of them.
std::string_view without_alias(SettingId id, std::string_view text) {
  return id == SettingId::kNet ? network_name(text) : text;
}

const Setting& row(SettingId id) {
  return settings_table()[static_cast<std::size_t>(id)];
}

/// The index of `text` among the choices; nothing when it is none of them.
std::optional<std::uint64_t> choice_of(std::string_view choices,
                                       std::string_view text) {
  for (std::uint64_t i = 0; !choices.empty(); ++i) {
    const std::size_t bar = choices.find('|');
    if (choices.substr(0, bar) == text) {
      return i;
    }
    if (bar == std::string_view::npos) {
      break;
    }
    choices.remove_prefix(bar + 1);
  }
  return std::nullopt;
}

}  // namespace

Settings::Settings() {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const std::string_view value = settings_table()[i].default_value;
    values_[i].text = value;
    values_[i].number = parse_bytes(value).value_or(0);
  }
}

Result<Settings> Settings::from_environment(const Lookup& lookup) {
  Settings settings;
  for (std::size_t i = 0; i < settings_table().size(); ++i) {
    const char* text = lookup(std::string(settings_table()[i].name).c_str());
    if (text == nullptr) {
      continue;
    }
    const Status status = settings.set(static_cast<SettingId>(i), text,
                                       SettingSource::kEnvironment);
    if (status != Status::kOk) {
      return status;
    }
  }
  return settings;
}

/// Checks the whole value before it changes anything. The message names the
/// setting as its source does: an option or a variable.
Status Settings::set(SettingId id,
                     std::string_view text,
                     SettingSource source) {
  const Setting& setting = row(id);
  text = without_alias(id, text);
  Value value{std::string(text), 0, source};
  const std::string_view shown =
      source == SettingSource::kOption ? setting.option : setting.name;
  switch (setting.kind) {
    case SettingKind::kText: break;
    case SettingKind::kChoice:
      if (!choice_of(setting.choices, text)) {
        log_error("{}={}: must be one of {}", shown, text,
                  id == SettingId::kNet ? networks_built_in()
                                        : std::string(setting.choices));
        return Status::kBadOption;
      }
      break;
    case SettingKind::kBytes:
    case SettingKind::kNumber: {
      const auto number = parse_bytes(text);
      if (!number || *number < setting.minimum || *number > setting.maximum) {
        log_error("{}={}: must be a number from {} to {}{}", shown, text,
                  setting.minimum, setting.maximum,
                  setting.kind == SettingKind::kBytes
                      ? " (bytes; K, M, G, T allowed)"
                      : "");
        return Status::kBadOption;
      }
      value.number = *number;
      break;
    }
  }
  values_[static_cast<std::size_t>(id)] = std::move(value);
  return Status::kOk;
}

const std::string& Settings::text(SettingId id) const {
  return values_[static_cast<std::size_t>(id)].text;
}

std::uint64_t Settings::choice(SettingId id) const {
  return choice_of(row(id).choices, text(id)).value_or(0);
}

std::uint64_t Settings::number(SettingId id) const {
  return values_[static_cast<std::size_t>(id)].number;
}

SettingSource Settings::source(SettingId id) const {
  return values_[static_cast<std::size_t>(id)].source;
}

SettingId setting_of_option(std::string_view option) noexcept {
  for (std::size_t i = 0; i < settings_table().size(); ++i) {
    if (!settings_table()[i].option.empty() &&
        settings_table()[i].option == option) {
      return static_cast<SettingId>(i);
    }
  }
  for (const auto& [alias, id] : kOptionAliases) {
    if (alias == option) {
      return id;
    }
  }
  return SettingId::kCount;
}

SettingId setting_named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < settings_table().size(); ++i) {
    if (settings_table()[i].name == name) {
      return static_cast<SettingId>(i);
    }
  }
  return SettingId::kCount;
}

}  // namespace acp
