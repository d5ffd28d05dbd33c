// Carries what ranks write to acprun's standard output and error.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "launcher/event_loop.h"
#include "launcher/line_assembler.h"
#include "launcher/output_sink.h"

namespace acp::launcher {

/// Used by one thread. Nothing is lost and nothing grows without limit: when
/// a reader is slow, ranks are not read.
class Output {
 public:
  /// Called once when standard output cannot be written: errno.
  using OnBroken = std::function<void(int)>;

  /// `stdout_fd` and `stderr_fd` stay the caller's; the same file behind both
  /// is written in one order.
  Output(EventLoop& loop, int stdout_fd, int stderr_fd, OnBroken on_broken);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output();

  enum class Stream : std::uint8_t { kOut, kErr };

  /// Reads this pipe from now on.
  [[nodiscard]] Status add(UniqueFd pipe, Stream stream, LineAssembler lines);

  /// Text of acprun's own for standard error; whole lines.
  void say(std::string_view text);

  /// Takes what is in the pipes now and stops reading: all writers are gone.
  void finish_reading();

  /// True when nothing waits to be written.
  bool is_flushed() const noexcept;

 private:
  struct Source {
    UniqueFd pipe;
    OutputSink* sink;
    LineAssembler lines;
    bool is_watched = false;
  };

  enum class Taken : std::uint8_t { kSome, kNothing, kEnd };

  Taken take(Source& source);
  void on_readable(Source& source);
  void flush(OutputSink& sink);
  void pause(OutputSink& sink);
  void resume(OutputSink& sink);

  EventLoop& loop_;
  OnBroken on_broken_;
  std::unique_ptr<OutputSink> out_;
  std::unique_ptr<OutputSink> err_;  ///< Null: the same file as out_.
  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<char> buffer_;
};

}  // namespace acp::launcher
