// Reads the settings of HMPI; settings.h names them.
#include "hmpi/settings.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <string_view>

#include "hmpi/ring.h"

namespace hmpi {

namespace {

/// Bytes, with K, M or G behind the number. False: no such text.
bool read_bytes(const char* text, std::size_t most, std::size_t& bytes) {
  if (*text < '0' || *text > '9') {
    return false;
  }
  char* end = nullptr;
  const unsigned long long number = std::strtoull(text, &end, 10);
  constexpr std::string_view kSuffixes = "KMG";
  const std::size_t suffix =
      *end == '\0' ? 0 : kSuffixes.find(static_cast<char>(*end & ~0x20)) + 1;
  const auto shift = static_cast<unsigned>(10 * suffix);
  if ((*end != '\0' && (suffix == 0 || end[1] != '\0')) ||
      number > (most >> shift)) {
    return false;
  }
  bytes = static_cast<std::size_t>(number) << shift;
  return true;
}

/// Nothing has changed after a mistake.
void read_size(const char* name,
               std::size_t most,
               std::size_t& bytes,
               std::string& mistake) {
  const char* text = std::getenv(name);
  if (text != nullptr && mistake.empty() && !read_bytes(text, most, bytes)) {
    mistake = std::string(name) + "=" + text + ": expected bytes from 0 to " +
              std::to_string(most) + ", such as 256, 64K, 16M or 2G";
  }
}

/// The position of the setting's text; 0, the default, also after a mistake.
std::size_t read_choice(const char* name,
                        std::initializer_list<std::string_view> choices,
                        std::string& mistake) {
  const char* text = std::getenv(name);
  const std::string_view choice = text == nullptr ? *choices.begin() : text;
  const auto* found = std::find(choices.begin(), choices.end(), choice);
  if (found != choices.end()) {
    return static_cast<std::size_t>(found - choices.begin());
  }
  if (mistake.empty()) {
    mistake = std::string(name) + "=" + text + ": expected one of";
    for (const std::string_view each : choices) {
      mistake += " " + std::string(each);
    }
  }
  return 0;
}

}  // namespace

/// A setting that the program has not set keeps its default.
Settings read_settings(std::string& mistake) {
  constexpr std::size_t kMost = std::size_t{1} << 40;
  Settings settings;
  read_size("HMPI_INLINE", kMostInlineBytes, settings.inline_bytes, mistake);
  read_size("HMPI_COPY", std::size_t{16} << 20, settings.copy_bytes, mistake);
  read_size("HMPI_DETACH", kMost, settings.detach_bytes, mistake);
  read_size("HMPI_BOTH_FROM", kMost, settings.both_from, mistake);
  read_size("HMPI_KEPT", kMost, settings.kept_bytes, mistake);
  read_size("HMPI_HEAP_FROM", kMost, settings.heap_from, mistake);
  read_size("HMPI_HEAP_SIZE", kMost, settings.heap_bytes, mistake);
  read_size("HMPI_POOL", kMost, settings.pool_bytes, mistake);
  settings.has_kernel_copy =
      read_choice("HMPI_CMA", {"on", "off"}, mistake) == 0;
  settings.is_debug = read_choice("HMPI_DEBUG", {"off", "on"}, mistake) == 1;
  if (const char* where = std::getenv("HMPI_STATS");
      where != nullptr && std::string_view(where) != "off" &&
      std::string_view(where) != "no") {
    const std::string_view words[] = {"1", "on", "yes", "true"};
    const bool is_on = std::ranges::find(words, where) != std::end(words);
    settings.statistics = is_on ? "on" : where;
    settings.has_clock = true;
  }
  switch (read_choice("HMPI_HEAP", {"large", "all", "off"}, mistake)) {
    case 1: settings.heap_from = 0; break;
    case 2: settings.heap_from = SIZE_MAX; break;
    default: break;
  }
  return settings;
}

}  // namespace hmpi
