// The modes by their names.
#include "explore/mode.h"

namespace explore {

Mode mode_named(const std::string& name, std::uint64_t seed) {
  Mode mode;
  mode.is_near = name == "near";
  mode.is_torn =
      name == "torn" || name == "weak" || name == "reverse" || name == "any";
  if (name == "reverse") mode.puts = Arrangement::kBackwards;
  if (name == "weak") mode.gets = Arrangement::kBackwards;
  if (name == "any") {
    mode.puts = mode.gets = Arrangement::kAny;
    mode.unit_bytes = 4;
    mode.seed = seed;
    mode.is_lively = true;
  }
  return mode;
}

}  // namespace explore
