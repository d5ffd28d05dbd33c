// Look-ups in a table of options. Called by the parser and the pages. Pure.
#include "launcher/option_table.h"

#include <algorithm>

#include "settings/networks.h"

namespace acp::launcher {

std::vector<std::string_view> split_text(std::string_view text,
                                         char separator) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::string join_words(std::span<const std::string_view> words,
                       std::string_view conjunction) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0 && i + 1 == words.size()) {
      text.append(" ").append(conjunction).append(" ");
    } else if (i > 0) {
      text += ", ";
    }
    text += words[i];
  }
  return text;
}

const OptionRow* find_row(const OptionTable& table, std::string_view name) {
  for (const OptionRow& row : table.rows) {
    if (row.name == name || (!name.empty() && row.short_name == name)) {
      return &row;
    }
    const auto old_names = split_text(row.old_names, ' ');
    if (std::find(old_names.begin(), old_names.end(), name) !=
        old_names.end()) {
      return &row;
    }
  }
  return nullptr;
}

std::vector<std::string_view> choices_of(const OptionRow& row) {
  const auto* setting = std::get_if<SettingId>(&row.target);
  if (setting == nullptr) return split_text(row.choices, '|');
  const Setting& of_library =
      settings_table()[static_cast<std::size_t>(*setting)];
  std::vector<std::string_view> choices = split_text(of_library.choices, '|');
  if (*setting == SettingId::kNet) {
    std::erase_if(choices, [](std::string_view net) {
      return !is_network_built_in(net);
    });
  }
  return choices;
}

std::string_view title_of(OptionGroup group) {
  switch (group) {
    case OptionGroup::kSpecification: return "Specification";
    case OptionGroup::kHosts: return "Hosts";
    case OptionGroup::kRanks: return "Ranks";
    case OptionGroup::kStreams: return "Input and output";
    case OptionGroup::kTimeLimits: return "Time limits";
    case OptionGroup::kMessages: return "Messages";
  }
  return "";
}

}  // namespace acp::launcher
