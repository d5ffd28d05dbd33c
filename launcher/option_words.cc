#include "launcher/option_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/spelling.h"
#include "settings/settings.h"

namespace acp::launcher {

namespace {

constexpr std::string_view kAcpPrefix = "--acp-";

/// Options of acprun that are no settings of the library.
constexpr std::array<std::string_view, 3> kLauncherWords = {
    "--acp-nprocs", "--acp-nodefile", "--acp-startermemsize-dl"};

/// Spellings of older scripts; all take a value.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10>
    kAliases = {{{"-np", "--acp-nprocs"},
                 {"-n", "--acp-nprocs"},
                 {"-nodefile", "--acp-nodefile"},
                 {"-machinefile", "--acp-nodefile"},
                 {"-host", "--host"},
                 {"-net", "--acp-envnet"},
                 {"-envnet", "--acp-envnet"},
                 {"-smemsize", "--acp-startermemsize"},
                 {"-startermemsize", "--acp-startermemsize"},
                 {"-startermemsize-dl", "--acp-startermemsize-dl"}}};

std::string_view translate(std::string_view name) {
  for (const auto& [alias, meaning] : kAliases) {
    if (alias == name) {
      return meaning;
    }
  }
  return name;
}

bool is_known_acp(std::string_view name) {
  return std::find(kLauncherWords.begin(), kLauncherWords.end(), name) !=
             kLauncherWords.end() ||
         setting_of_option(name) != SettingId::kCount;
}

EarlyExit unknown_acp(std::string_view name) {
  std::vector<std::string_view> known(kLauncherWords.begin(),
                                      kLauncherWords.end());
  for (const Setting& setting : settings_table()) {
    if (!setting.option.empty()) {
      known.push_back(setting.option);
    }
  }
  const std::string_view nearest = nearest_word(name, known);
  const std::string hint =
      nearest.empty() ? fmt::format("known are {}", fmt::join(known, ", "))
                      : fmt::format("did you mean {}?", nearest);
  return {kStatusLauncher,
          fmt::format("{} is no option of ACP; {} (a program's own --acp-* "
                      "words have to stand behind a --)",
                      name, hint)};
}

/// Walks over the words; each step takes one option.
class Splitter {
 public:
  Splitter(std::span<const std::string> words, const TakesValue& takes_value)
      : words_(words), takes_value_(takes_value) {}

  OrExit<SplitWords> run() {
    while (!error_ && next_ < words_.size() && is_option(words_[next_])) {
      if (words_[next_] == "--") {
        split_.command.assign(
            words_.begin() + static_cast<std::ptrdiff_t>(next_) + 1,
            words_.end());
        return std::move(split_);
      }
      take_option();
    }
    take_command();
    if (error_) {
      return std::move(*error_);
    }
    return std::move(split_);
  }

 private:
  static bool is_option(std::string_view word) {
    return word.size() > 1 && word.front() == '-';
  }

  /// Splits "name=value", or finds the value in the next word.
  void take_option() {
    const std::string_view word = words_[next_++];
    const std::size_t equals = word.find('=');
    const std::string_view spelled = word.substr(0, equals);
    const std::string_view name = translate(spelled);
    const bool is_acp = name.starts_with(kAcpPrefix);
    if (is_acp && !is_known_acp(name)) {
      error_ = unknown_acp(name);
      return;
    }
    if (!is_acp && !takes_value_(name)) {
      split_.own.emplace_back(word);
      return;
    }
    std::string value;
    if (equals != std::string_view::npos) {
      value = word.substr(equals + 1);
    } else if (next_ < words_.size()) {
      value = words_[next_++];
    } else {
      error_ =
          EarlyExit{kStatusLauncher, fmt::format("{} needs a value", spelled)};
      return;
    }
    if (is_acp) {
      split_.acp.push_back({std::string(name), std::move(value)});
    } else {
      split_.own.push_back(fmt::format("{}={}", name, value));
    }
  }

  /// Spec 3.3: --acp-* words are ours behind the program's name, too.
  void take_command() {
    while (!error_ && next_ < words_.size()) {
      if (words_[next_] == "--") {
        break;
      }
      if (!split_.command.empty() && words_[next_].starts_with(kAcpPrefix)) {
        take_option();
      } else {
        split_.command.push_back(words_[next_++]);
      }
    }
    split_.command.insert(split_.command.end(),
                          words_.begin() + static_cast<std::ptrdiff_t>(next_),
                          words_.end());
  }

  std::span<const std::string> words_;
  const TakesValue& takes_value_;
  std::size_t next_ = 0;
  SplitWords split_;
  std::optional<EarlyExit> error_;
};

}  // namespace

OrExit<SplitWords> split_words(std::span<const std::string> words,
                               const TakesValue& takes_value) {
  return Splitter(words, takes_value).run();
}

}  // namespace acp::launcher
