// The tables of hosts on their way to all hosts: address cards and published
// records. acprun passes them on in pieces, and keeps less than one piece.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace acp::launcher {

/// A table may reach a host whose ranks have not come to the phase. Invariant:
/// a rank changes a record only after a barrier that follows the last reading
/// of it on any host. So an early table changes no record that is being read.
/// The ranks of one host rely on that as well, since they share the records.
///
/// Used by one thread, which alone touches all fields.
class TablePieces {
 public:
  using Send = std::function<void(std::string piece)>;

  /// A piece is longer only where the table of one host is.
  static constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

  /// `send` gets whole pieces; it must outlive this.
  explicit TablePieces(Send send) : send_(std::move(send)) {}

  /// Takes the table of one host. Sends the tables that came before it where
  /// they fill a piece.
  void add(std::string_view table);

  /// Sends the rest. Call it before Go, when all tables of the phase are here.
  void send_rest();

 private:
  Send send_;
  std::string piece_;
};

}  // namespace acp::launcher
