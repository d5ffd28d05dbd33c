// Joins the tables of hosts to pieces. Called by acprun's job; makes no system
// call itself.
#include "launcher/table_pieces.h"

#include <utility>

namespace acp::launcher {

void TablePieces::add(std::string_view table) {
  if (piece_.size() + table.size() > kPieceBytes) {
    send_rest();
  }
  piece_ += table;
}

void TablePieces::send_rest() {
  if (!piece_.empty()) {
    send_(std::exchange(piece_, {}));
  }
}

}  // namespace acp::launcher
