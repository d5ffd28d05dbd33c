// Reads the program for --preload. Called by job.cc before the ranks start,
// so it may block for a file.
#include "launcher/program_pieces.h"

#include <cstddef>
#include <fstream>
#include <variant>

#include "base/log.h"
#include "launcher/program.h"
#include "launcher/words.h"

namespace acp::launcher {

namespace {

/// Bytes of one message with a piece of the program.
constexpr std::size_t kProgramPiece = 1 << 20;

}  // namespace

/// The daemons get the file in pieces, which bounds a message. A relative name
/// counts from the directory of the job, as it does for the ranks of this
/// host.
Status send_program(const JobPlan& plan,
                    const std::function<void(std::string piece)>& send) {
  auto found =
      find_program(plan.options.command.front(), plan.options.directory,
                   value_in(plan.orders.environment, "PATH"));
  const auto* name = std::get_if<std::string>(&found);
  std::ifstream file;
  if (name != nullptr) {
    file.open(
        name->starts_with('/') ? *name : plan.orders.directory + "/" + *name,
        std::ios::binary);
  }
  if (name == nullptr || !file) {
    log_error("--preload: {} cannot be read", plan.options.command.front());
    return Status::kSystem;
  }
  std::string piece(kProgramPiece, '\0');
  while (file.read(piece.data(), kProgramPiece) || file.gcount() > 0) {
    send(piece.substr(0, static_cast<std::size_t>(file.gcount())));
  }
  return Status::kOk;
}

}  // namespace acp::launcher
