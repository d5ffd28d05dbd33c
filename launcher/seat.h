// A seat stands for a rank whose process another launcher starts. The keeper
// starts the seat as it starts any rank. The process that mpirun starts, the
// join command, takes the rank's descriptors and variables from the seat, and
// tells it how the program ended. So for acprun the seat is the rank: it ends
// when the program ends, and as the program ended. docs/macprun.md has the
// messages and what follows from each death.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "settings/settings.h"

namespace acp::launcher {

/// The ranks of one MPI job, and how it is started. Plain value.
struct SeatOrders {
  std::string token;           ///< Random; part of the names of the sockets.
  std::uint32_t first = 0;     ///< Rank of the MPI job's process 0.
  std::uint32_t count = 1;     ///< Processes of the MPI job.
  std::uint32_t limit_ms = 0;  ///< Until the process has come; 0: no limit.
  std::string name;            ///< "line 3, mpirun", for messages.
  std::string hosts;           ///< "host:2,other:1", in the order of the ranks.
  std::string variables;       ///< Names from --env, separated by commas.
  std::string acprun;          ///< File of acprun, for the join command.
  std::vector<std::string> launcher;  ///< mpirun and its options.
  std::vector<std::string> command;   ///< The program and its arguments.
};

inline constexpr std::string_view kSeatOption = "--seat";
inline constexpr std::string_view kJoinOption = "--join";

/// The words of a seat's command line, without acprun's own name.
std::vector<std::string> words_of_seat(const SeatOrders& orders);
/// nullopt: words that words_of_seat does not make.
std::optional<SeatOrders> parse_seat(std::span<const std::string> words);

/// The command line that mpirun gets: mpirun, its options, the number of
/// processes, and the join command with the program.
std::vector<std::string> launch_words(const SeatOrders& orders);

/// Runs as the seat of the rank in the variable ACP_RANK. The seat of the first
/// rank starts the launcher. Returns the exit status, where it does not end by
/// the program's signal.
int run_seat(const SeatOrders& orders, const Settings::Lookup& lookup);

}  // namespace acp::launcher
