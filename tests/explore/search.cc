// The words of the command line that all explorers have; see search.h.
#include "explore/search.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace explore {

bool SearchOptions::take(const std::string& word, const char* value) {
  if (word == "--bound") {
    bound = static_cast<int>(std::strtol(value, nullptr, 10));
  } else if (word == "--limit") {
    limit = std::strtoull(value, nullptr, 10);
  } else if (word == "--random") {
    random = std::strtoull(value, nullptr, 10);
  } else if (word == "--seed") {
    seed = std::strtoull(value, nullptr, 10);
  } else if (word == "--wants") {
    is_failure_wanted = std::strcmp(value, "failure") == 0;
  } else if (word == "--replay") {
    is_replay = true;
    departures = departures_in(value);
  } else {
    return false;
  }
  return true;
}

bool SearchOptions::wants(const std::string& name) const {
  for (std::size_t at = 0; at <= pattern.size();) {
    const std::size_t end = std::min(pattern.find(',', at), pattern.size());
    if (name.find(pattern.substr(at, end - at)) != std::string::npos) {
      return true;
    }
    at = end + 1;
  }
  return false;
}

}  // namespace explore
