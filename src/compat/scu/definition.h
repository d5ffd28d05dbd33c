// The definition of the machine, from the variable COMMS_DEF or a file:
// {GRID=t,x,y,z}, {LOGFILE=...}, {SEED=...}, {SEEDFILE=...}.
#pragma once

#include <array>
#include <string>

namespace scu {

inline constexpr int kAxes = 4;

struct Definition {
  std::array<int, kAxes> grid{};  ///< t, x, y, z; each 1 or more.
  std::string log_file;           ///< Empty: nothing is logged.
  unsigned int seed = 1;
  std::string seed_file = "rng.dat";
};

/// A definition, or the reason why there is none.
struct Parsed {
  Definition definition;
  std::string failure;  ///< Empty: success.
};

/// Reads a definition from `text`. Text outside of braces and braces with other
/// names are ignored.
Parsed parse(const std::string& text);

/// Reads the definition that COMMS_DEF has or names; without that variable, the
/// file commsMPI.def beside the executable.
Parsed find_definition();

/// A seed, or the reason why there is none.
struct Seed {
  unsigned int value = 0;
  std::string failure;
};

/// Returns the number at `index`, from 0, of a file of numbers.
Seed seed_from(const std::string& file, int index);

}  // namespace scu
