// The definition of the machine: {GRID=t,x,y,z}, {LOGFILE=...}, {SEED=...},
// {SEEDFILE=...}, from COMMS_DEF or a file.
#pragma once

#include <array>
#include <string>

namespace scu {

inline constexpr int kAxes = 4;

struct Definition {
  std::array<int, kAxes> grid{};  ///< t, x, y, z; all 1 or more.
  std::string log_file;           ///< Empty: nothing is logged.
  unsigned int seed = 1;
  std::string seed_file = "rng.dat";
};

/// A definition, or why there is none.
struct Parsed {
  Definition definition;
  std::string failure;  ///< Empty: success.
};

/// Takes a definition from `text`. Outside of braces, and in braces with
/// another name, anything may stand.
Parsed parse(const std::string& text);

/// Takes it from where the program is told: COMMS_DEF has a text or the name of
/// a file; without it commsMPI.def beside the executable.
Parsed find_definition();

/// The number at place `index` (from 0) of a file of numbers.
struct Seed {
  unsigned int value = 0;
  std::string failure;
};

Seed seed_from(const std::string& file, int index);

}  // namespace scu
