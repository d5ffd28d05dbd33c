// Reads the settings of HMPI; settings.h names them.
#include "hmpi/settings.h"

#include <cstdint>
#include <cstdlib>
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
              std::to_string(most) + ", such as 256 or 64K";
  }
}

}  // namespace

Settings read_settings(std::string& mistake) {
  constexpr std::size_t kMost = std::size_t{1} << 40;
  Settings settings;
  read_size("HMPI_INLINE", kMostInlineBytes, settings.inline_bytes, mistake);
  read_size("HMPI_COPY", std::size_t{16} << 20, settings.copy_bytes, mistake);
  read_size("HMPI_DETACH", kMost, settings.detach_bytes, mistake);
  read_size("HMPI_BOTH_FROM", kMost, settings.both_from, mistake);
  read_size("HMPI_KEPT", kMost, settings.kept_bytes, mistake);
  const char* cma = std::getenv("HMPI_CMA");
  const std::string_view choice = cma == nullptr ? "on" : cma;
  if (mistake.empty() && choice != "on" && choice != "off") {
    mistake = "HMPI_CMA=" + std::string(choice) + ": expected on or off";
  }
  settings.has_kernel_copy = choice != "off";
  return settings;
}

}  // namespace hmpi
