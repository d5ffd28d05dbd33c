// Reads the QMP_ variables, and warns of those that no setting has. Called by
// job.cc before acp_init, so a mistake ends the program before other nodes
// wait.
#include "qmp/settings.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "qmp/failure.h"

namespace qmp {

namespace {

/// find_package of CMake reads the last two: they are no mistake of the user.
constexpr std::array<std::string_view, 6> kKnown = {
    "QMP_GEOM",         "QMP_LAYOUT", "QMP_MEMORY",
    "QMP_WAIT_TIMEOUT", "QMP_DIR",    "QMP_ROOT"};

}  // namespace

/// strtod reads the number. A suffix multiplies it by a power of 1024.
std::optional<double> number_setting(
    const char* name, Unit unit, double missing, double least, double most) {
  static constexpr std::string_view kSuffixes = "KMGT";
  const char* text = std::getenv(name);
  if (text == nullptr) {
    return missing;
  }
  char* end = nullptr;
  double value = std::strtod(text, &end);
  const auto suffix = static_cast<char>(*end & ~0x20);
  const std::size_t index = kSuffixes.find(suffix);
  if (end != text && unit == Unit::kBytes && index != std::string_view::npos) {
    value = std::ldexp(value, 10 * (static_cast<int>(index) + 1));
    ++end;
  }
  if (end == text || *end != '\0' || !(value >= least && value <= most)) {
    (void)fail(
        QMP_INVALID_ARG, "%s=%s: expected a number%s from %.15g to %.15g", name,
        text,
        unit == Unit::kBytes ? ", or one with K, M, G or T behind it," : "",
        least, most);
    return std::nullopt;
  }
  return value;
}

std::vector<std::string> unknown_settings(char* const* environment) {
  std::vector<std::string> unknown;
  for (char* const* entry = environment; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (name.starts_with("QMP_") &&
        std::find(kKnown.begin(), kKnown.end(), name) == kKnown.end()) {
      unknown.emplace_back(name);
    }
  }
  return unknown;
}

void warn_of_unknown_settings() {
  for (const std::string& name : unknown_settings(environ)) {
    (void)QMP_fprintf(stderr,
                      "warning: %s is no setting of QMP, which has QMP_GEOM, "
                      "QMP_LAYOUT, QMP_MEMORY and QMP_WAIT_TIMEOUT",
                      name.c_str());
  }
}

}  // namespace qmp
