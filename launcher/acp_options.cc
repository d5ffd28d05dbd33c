#include "launcher/acp_options.h"

#include <fmt/format.h>

#include <charconv>

#include "base/byte_count.h"
#include "launcher/nodefile.h"
#include "settings/networks.h"

namespace acp::launcher {

namespace {

EarlyExit error(std::string text) {
  return {kStatusLauncher, std::move(text)};
}

std::optional<EarlyExit> take_procs(const std::string& value,
                                    Options& options) {
  std::uint32_t procs = 0;
  const char* end = value.data() + value.size();
  const auto [rest, failure] = std::from_chars(value.data(), end, procs);
  if (failure != std::errc{} || rest != end || procs == 0 ||
      procs > kMaxRanks) {
    return error(fmt::format("-np {}: must be a number of ranks from 1 to {}",
                             value, kMaxRanks));
  }
  if (options.procs != 0 && options.procs != procs) {
    return error(
        fmt::format("-np is given twice, as {} and {}", options.procs, procs));
  }
  options.procs = procs;
  return std::nullopt;
}

std::optional<EarlyExit> take_nodefile(const std::string& value,
                                       Options& options) {
  if (options.nodefile && *options.nodefile != value) {
    const auto& nets = settings_table()[static_cast<int>(SettingId::kNet)];
    const bool is_net =
        ("|" + std::string(nets.choices) + "|").find("|" + value + "|") !=
        std::string::npos;
    return error(fmt::format(
        "a second --acp-nodefile={}{}", value,
        is_net ? "; did you mean --acp-envnet=" + value + "?"
               : ": there can be one, and " + *options.nodefile + " is it"));
  }
  options.nodefile = value;
  return std::nullopt;
}

std::optional<EarlyExit> take_setting(SettingId id,
                                      const std::string& value,
                                      Options& options) {
  if (options.settings.set(id, value, SettingSource::kOption) != Status::kOk) {
    return error("");
  }
  options.setting_variables.push_back(
      fmt::format("{}={}", settings_table()[static_cast<std::size_t>(id)].name,
                  options.settings.text(id)));
  return std::nullopt;
}

/// Older scripts give the data library what suited the old one; ours must
/// not get less than it is made for.
std::optional<EarlyExit> take_old_heap_size(const std::string& value,
                                            Options& options) {
  const auto bytes = parse_bytes(value);
  if (!bytes) {
    return error(fmt::format(
        "--acp-startermemsize-dl={}: must be a number of bytes", value));
  }
  if (*bytes <= options.settings.number(SettingId::kHeapSize)) {
    return std::nullopt;
  }
  return take_setting(SettingId::kHeapSize, value, options);
}

std::optional<EarlyExit> take_acp_word(const AcpWord& word, Options& options) {
  if (word.name == "--acp-nprocs") return take_procs(word.value, options);
  if (word.name == "--acp-nodefile") return take_nodefile(word.value, options);
  if (word.name == "--acp-startermemsize-dl") {
    return take_old_heap_size(word.value, options);
  }
  return take_setting(setting_of_option(word.name), word.value, options);
}

}  // namespace

std::optional<EarlyExit> take_acp_words(std::span<const AcpWord> words,
                                        Options& options) {
  for (const AcpWord& word : words) {
    if (auto exit = take_acp_word(word, options)) return exit;
  }
  return std::nullopt;
}

std::optional<EarlyExit> check_net(const Settings& settings) {
  const std::string& net = settings.text(SettingId::kNet);
  if (is_network_built_in(net)) {
    return std::nullopt;
  }
  return error(fmt::format("network '{}' is not built in; there are {}", net,
                           networks_built_in()));
}

}  // namespace acp::launcher
