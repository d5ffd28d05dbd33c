// Reads -qmp-geom, -qmp-alloc-map, -qmp-logic-map and -qmp-job, each with
// numbers behind it. Called by job.cc before acp_init. It changes argc and argv
// only when every option is good.
#include "qmp/options.h"

#include <array>
#include <cctype>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "qmp/failure.h"

namespace qmp {

namespace {

struct Option {
  std::string_view word;
  std::vector<int> Options::*values;
};

constexpr std::array<Option, 4> kOptions{{
    {"-qmp-geom", &Options::geometry},
    {"-qmp-alloc-map", &Options::allocated_map},
    {"-qmp-logic-map", &Options::logical_map},
    {"-qmp-job", &Options::jobs},
}};

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

std::optional<int> number_in(const std::string& text) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value < 0 || value > 1'000'000'000) {
    return std::nullopt;
  }
  return static_cast<int>(value);
}

/// Words like "x" or "x2" behind a number: "-qmp-geom 2 x 2" for "2 2". Numbers
/// end at any other word, which may be an argument of the program.
bool is_sign_between_sizes(std::string_view word) {
  return word.find_first_of("xX*,") == 0 &&
         word.find_first_not_of("0123456789xX*,") == std::string_view::npos;
}

const Option* option_named(std::string_view word) {
  for (const Option& option : kOptions) {
    if (option.word == word) {
      return &option;
    }
  }
  return nullptr;
}

bool take_geometry(Options& options) {
  const char* text = std::getenv("QMP_GEOM");
  if (text == nullptr || !options.geometry.empty()) {
    return true;
  }
  options.geometry_source = "QMP_GEOM";
  std::istringstream in(text);
  for (std::string word; in >> word;) {
    const auto number = number_in(word);
    if (!number) {
      (void)fail(QMP_INVALID_ARG,
                 "QMP_GEOM=%s: '%s' is no number; give the sizes like \"2 2\"",
                 text, word.c_str());
      return false;
    }
    options.geometry.push_back(*number);
  }
  return true;
}

bool take_layout(Options& options) {
  const char* text = std::getenv("QMP_LAYOUT");
  const std::string_view layout = text != nullptr ? text : "surface";
  if (layout != "surface" && layout != "published") {
    (void)fail(QMP_INVALID_ARG,
               "QMP_LAYOUT=%s: expected 'surface' (the least surface) or "
               "'published' (the order of the published library)",
               text);
    return false;
  }
  options.layout =
      layout == "surface" ? Layout::kLeastSurface : Layout::kPublished;
  return true;
}

}  // namespace

/// An option takes all words behind it that begin with a digit, and refuses a
/// sign between two sizes. The command line is changed last, when everything is
/// right.
std::optional<Options> take_options(int* argc, char** argv) {
  Options options;
  std::vector<char*> kept;
  const int count = argc != nullptr && argv != nullptr ? *argc : 0;
  for (int i = 0; i < count;) {
    const Option* option = option_named(argv[i]);
    if (option == nullptr) {
      if (std::string_view(argv[i]).starts_with("-qmp-")) {
        options.unknown.emplace_back(argv[i]);
      }
      kept.push_back(argv[i++]);
      continue;
    }
    std::vector<int>& values = options.*option->values;
    values.clear();
    for (++i;
         i < count && (is_digit(argv[i][0]) || is_sign_between_sizes(argv[i]));
         ++i) {
      const auto number = number_in(argv[i]);
      if (!number) {
        (void)fail(QMP_INVALID_ARG,
                   "%s: '%s' is no number; give them like %s 2 2",
                   option->word.data(), argv[i], option->word.data());
        return std::nullopt;
      }
      values.push_back(*number);
    }
    if (values.empty()) {
      (void)fail(QMP_INVALID_ARG, "%s needs numbers behind it",
                 option->word.data());
      return std::nullopt;
    }
  }
  if (!take_geometry(options) || !take_layout(options)) {
    return std::nullopt;
  }
  if (count > 0) {
    for (std::size_t i = 0; i < kept.size(); ++i) {
      argv[i] = kept[i];
    }
    argv[kept.size()] = nullptr;
    *argc = static_cast<int>(kept.size());
  }
  return options;
}

}  // namespace qmp
