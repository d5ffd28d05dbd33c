// Takes options of the library out of a program's arguments. Called by
// acp_init; it changes argc and argv only when every option is good.
#include "runtime/arguments.h"

#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/spelling.h"

namespace acp::runtime {

namespace {

/// Sets the option in one word. The log line of an unknown name has the nearest
/// known name.
Status take_one(std::string_view word, Settings& settings) {
  const std::size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const SettingId id = setting_of_option(name);
  if (id == SettingId::kCount) {
    std::vector<std::string_view> known;
    for (const Setting& setting : settings_table()) {
      if (!setting.option.empty()) {
        known.push_back(setting.option);
      }
    }
    const std::string_view nearest = nearest_word(name, known, "--acp-");
    log_error(
        "{}: unknown option{}{}{}; put -- before the program's own "
        "options that start with --acp-",
        name, nearest.empty() ? "" : ", did you mean ", nearest,
        nearest.empty() ? "" : "?");
    return Status::kBadOption;
  }
  if (equals == std::string_view::npos) {
    log_error("{}: has no value, write {}=VALUE", name, name);
    return Status::kBadOption;
  }
  return settings.set(id, word.substr(equals + 1), SettingSource::kOption);
}

}  // namespace

/// Words are kept in a list first, so that an error leaves the arguments as
/// they were.
Status take_arguments(int* argc, char*** argv, Settings& settings) {
  if ((argc == nullptr) != (argv == nullptr)) {
    log_error("acp_init: argc and argv must both be given, or both be null");
    return Status::kInvalidArgument;
  }
  if (argc == nullptr || *argv == nullptr) {
    return Status::kOk;
  }
  std::vector<char*> kept;
  bool is_over = false;
  for (int i = 0; i < *argc; ++i) {
    const std::string_view word((*argv)[i]);
    is_over = is_over || word == "--";
    if (i == 0 || is_over || !word.starts_with("--acp-")) {
      kept.push_back((*argv)[i]);
      continue;
    }
    if (const Status status = take_one(word, settings); status != Status::kOk) {
      return status;
    }
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    (*argv)[i] = kept[i];
  }
  (*argv)[kept.size()] = nullptr;
  *argc = static_cast<int>(kept.size());
  return Status::kOk;
}

}  // namespace acp::runtime
