// Divides a stream of bytes into lines. Called by Output for each piece that it
// reads. Makes no system call; a line without an end is bounded.
#include "launcher/line_assembler.h"

namespace acp::launcher {

void LineAssembler::feed(std::string_view bytes, std::string& out) {
  if (mode_ == LineMode::kPassThrough) {
    out += bytes;
    return;
  }
  const std::size_t last = bytes.rfind('\n');
  if (last != std::string_view::npos) {
    feed_lines(bytes.substr(0, last + 1), out);
    bytes.remove_prefix(last + 1);
  }
  partial_ += bytes;
  if (partial_.size() > kMaxLine) {
    if (!in_piece_) out += prefix_;
    out += partial_;
    partial_.clear();
    in_piece_ = true;
  }
}

void LineAssembler::feed_lines(std::string_view lines, std::string& out) {
  if (!in_piece_) out += prefix_;
  in_piece_ = false;
  out += partial_;
  partial_.clear();
  if (prefix_.empty()) {
    out += lines;
    return;
  }
  while (true) {
    const std::size_t end = lines.find('\n');
    out += lines.substr(0, end + 1);
    lines.remove_prefix(end + 1);
    if (lines.empty()) return;
    out += prefix_;
  }
}

void LineAssembler::finish(std::string& out) {
  if (!partial_.empty()) {
    if (!in_piece_) out += prefix_;
    out += partial_;
  }
  if (mode_ == LineMode::kLines && (!partial_.empty() || in_piece_)) {
    out += '\n';
  }
  partial_.clear();
  in_piece_ = false;
}

}  // namespace acp::launcher
