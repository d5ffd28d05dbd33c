// Names that Open MPI, MPICH and Slurm give to options that acprun has under
// another name. Called by the parser for unknown options. Pure; it only
// advises, and no foreign option is accepted.
#include "launcher/foreign_options.h"

#include <algorithm>
#include <array>

namespace acp::launcher {

namespace {

struct Meaning {
  std::array<std::string_view, 8> options;  ///< Without leading dashes.
  std::string_view advice;
};

constexpr std::array<Meaning, 8> kMeanings = {{
    {{"np", "n", "N", "c", "nprocs", "ntasks", "procs", "num-procs"},
     "the number of ranks is -np N"},
    {{"hostfile", "machinefile", "nodefile", "f", "machine-file",
      "default-hostfile"},
     "--acp-nodefile=FILE names the host of each rank, a line each"},
    {{"hosts", "H", "w", "nodelist"}, "hosts are named by --host A,B"},
    {{"x", "genv", "export", "envlist", "genvlist", "envall"},
     "--env NAME=VALUE sets a variable; ranks have acprun's own as well"},
    {{"bind-to", "bindto", "bind-to-core", "map-by", "cpu-bind", "binding",
      "bynode"},
     "ranks are bound by --bind none, core, numa or hwthread"},
    {{"wd", "cwd", "chdir", "D", "path"},
     "the working directory of the ranks is --wdir DIRECTORY"},
    {{"tag-output", "l", "label", "prepend-rank"},
     "--tag puts the rank before each line"},
    {{"mca", "gmca", "iface", "network", "mpi"},
     "the network is chosen by --acp-envnet=NET"},
}};

}  // namespace

std::string_view advice_for_foreign(std::string_view option) noexcept {
  const std::size_t begin = option.find_first_not_of('-');
  if (begin == std::string_view::npos) return "";
  option.remove_prefix(begin);
  for (const Meaning& meaning : kMeanings) {
    if (std::find(meaning.options.begin(), meaning.options.end(), option) !=
        meaning.options.end()) {
      return meaning.advice;
    }
  }
  return "";
}

}  // namespace acp::launcher
