// Carries the ranks' output to acprun's standard output and error.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/printable.h"
#include "base/unique_fd.h"
#include "launcher/event_loop.h"
#include "launcher/line_assembler.h"
#include "launcher/output_sink.h"

namespace acp::launcher {

/// Used by the thread of the event loop, which alone touches all fields.
/// Nothing is lost and no buffer grows without limit: while acprun's reader is
/// slow, acprun does not read from the ranks.
class Output {
 public:
  /// Called once, with an errno, when standard output cannot be written.
  using OnBroken = std::function<void(int)>;

  /// `stdout_fd` and `stderr_fd` are not closed here. When both are one file,
  /// its lines keep the order in which acprun read them.
  Output(EventLoop& loop, int stdout_fd, int stderr_fd, OnBroken on_broken);
  /// For a daemon, whose sinks lead to acprun.
  Output(EventLoop& loop,
         std::unique_ptr<OutputSink> out,
         std::unique_ptr<OutputSink> err);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output();

  enum class Stream : std::uint8_t { kOut, kErr };

  /// Reads this pipe of a rank from now on.
  [[nodiscard]] Status add(UniqueFd pipe,
                           Stream stream,
                           LineAssembler lines,
                           std::uint32_t rank);

  /// Whether a pipe of the rank has brought anything.
  bool has_text_of(std::uint32_t rank) const noexcept;

  /// Appends whole lines that another host has read from its ranks.
  void write(Stream stream, std::string_view lines);

  /// Writes acprun's own text, whole lines, to standard error.
  void say(std::string_view text) {
    write(Stream::kErr, printable_lines(text));
  }

  /// Passes on what the sinks have room for.
  void flush_all();
  /// Whether so much waits for acprun's reader that no rank is read.
  bool is_congested() const noexcept;

  /// Reads what is left in the pipes and closes them. All writers are gone.
  void finish_reading();

  /// Returns whether all text is written.
  bool is_flushed() const noexcept;

 private:
  struct Source {
    UniqueFd pipe;
    OutputSink* sink;
    LineAssembler lines;
    std::uint32_t rank;
    bool has_text = false;    ///< Bytes were read.
    bool is_watched = false;  ///< In the event loop; false while paused.
  };

  OutputSink& sink_of(Stream stream);

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
