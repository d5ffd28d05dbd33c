// Reads the ranks' pipes into line assemblers, and writes their lines into two
// sinks. Called by HostPart, by acprun's job and by daemons, in the thread of
// their event loop. No rank's pipe is read while its sink is full, so no buffer
// grows without limit.
#include "launcher/output.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"

namespace acp::launcher {

namespace {

/// The capacity of a pipe on Linux: one read takes all that a rank has written.
constexpr std::size_t kReadBytes = 1 << 16;
/// With more pending bytes in a sink, its ranks are not read until less than
/// half is left.
constexpr std::size_t kMaxPending = 1 << 20;

bool is_same_file(int a, int b) {
  struct stat x {};

  struct stat y {};

  return ::fstat(a, &x) == 0 && ::fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
         x.st_ino == y.st_ino;
}

}  // namespace

Output::Output(EventLoop& loop,
               int stdout_fd,
               int stderr_fd,
               OnBroken on_broken)
    : loop_(loop),
      on_broken_(std::move(on_broken)),
      out_(std::make_unique<DescriptorSink>(stdout_fd)),
      buffer_(kReadBytes) {
  // Two sinks of one file would write into each other's lines.
  if (!is_same_file(stdout_fd, stderr_fd)) {
    err_ = std::make_unique<DescriptorSink>(stderr_fd);
  }
}

Output::Output(EventLoop& loop,
               std::unique_ptr<OutputSink> out,
               std::unique_ptr<OutputSink> err)
    : loop_(loop),
      out_(std::move(out)),
      err_(std::move(err)),
      buffer_(kReadBytes) {}

Output::~Output() {
  for (const auto& source : sources_) {
    if (source->is_watched) loop_.forget(source->pipe.get());
  }
  loop_.forget(out_->fd());
  if (err_) loop_.forget(err_->fd());
}

Status Output::add(UniqueFd pipe,
                   Stream stream,
                   LineAssembler lines,
                   std::uint32_t rank) {
  sources_.push_back(std::make_unique<Source>(
      Source{std::move(pipe), &sink_of(stream), std::move(lines), rank}));
  Source& source = *sources_.back();
  source.is_watched = true;
  return loop_.watch(source.pipe.get(), EPOLLIN,
                     [this, &source] { on_readable(source); });
}

bool Output::has_text_of(std::uint32_t rank) const noexcept {
  return std::ranges::any_of(sources_, [rank](const auto& source) {
    return source->rank == rank && source->has_text;
  });
}

Output::Taken Output::take(Source& source) {
  const ssize_t n = ::read(source.pipe.get(), buffer_.data(), buffer_.size());
  if (n > 0) {
    source.has_text = true;
    source.lines.feed({buffer_.data(), static_cast<std::size_t>(n)},
                      source.sink->buffer());
    return Taken::kSome;
  }
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return Taken::kNothing;
  source.lines.finish(source.sink->buffer());
  return Taken::kEnd;
}

void Output::on_readable(Source& source) {
  OutputSink& sink = *source.sink;
  if (take(source) == Taken::kEnd) {
    loop_.forget(source.pipe.get());
    source.is_watched = false;
    source.pipe.reset();
  }
  flush(sink);
}

/// Writes, and then follows the sink's change of state. A blocked sink is
/// watched and may pause its ranks. A broken standard output is reported, once.
void Output::flush(OutputSink& sink) {
  const SinkState before = sink.state();
  const SinkState now = sink.flush();
  if (now == SinkState::kBlocked) {
    if (before != SinkState::kBlocked && sink.fd() >= 0 &&
        loop_.watch(sink.fd(), EPOLLOUT, [this, &sink] { flush(sink); }) !=
            Status::kOk) {
      return;
    }
    if (sink.pending() > kMaxPending) {
      pause(sink);
    } else if (sink.pending() < kMaxPending / 2) {
      resume(sink);
    }
    return;
  }
  if (before == SinkState::kBlocked) {
    loop_.forget(sink.fd());
    resume(sink);
  }
  if (now == SinkState::kBroken && before != SinkState::kBroken &&
      &sink == out_.get()) {
    on_broken_(sink.error());
  }
}

void Output::pause(OutputSink& sink) {
  for (const auto& source : sources_) {
    if (source->sink == &sink && source->is_watched) {
      loop_.forget(source->pipe.get());
      source->is_watched = false;
    }
  }
}

void Output::resume(OutputSink& sink) {
  for (const auto& source : sources_) {
    if (source->sink != &sink || source->is_watched || !source->pipe) continue;
    Source* resumed = source.get();
    resumed->is_watched =
        loop_.watch(resumed->pipe.get(), EPOLLIN,
                    [this, resumed] { on_readable(*resumed); }) == Status::kOk;
  }
}

OutputSink& Output::sink_of(Stream stream) {
  return stream == Stream::kErr && err_ ? *err_ : *out_;
}

void Output::write(Stream stream, std::string_view lines) {
  OutputSink& sink = sink_of(stream);
  sink.buffer() += lines;
  flush(sink);
}

void Output::flush_all() {
  flush(*out_);
  if (err_) flush(*err_);
}

bool Output::is_congested() const noexcept {
  return out_->pending() > kMaxPending / 2 ||
         (err_ && err_->pending() > kMaxPending / 2);
}

void Output::finish_reading() {
  for (const auto& source : sources_) {
    if (!source->pipe) continue;
    if (source->is_watched) loop_.forget(source->pipe.get());
    source->is_watched = false;
    // This ends: no process is left that could write into the pipe.
    Taken taken = Taken::kSome;
    while (taken == Taken::kSome)
      taken = take(*source);
    if (taken == Taken::kNothing) source->lines.finish(source->sink->buffer());
    source->pipe.reset();
    flush(*source->sink);
  }
}

bool Output::is_flushed() const noexcept {
  return out_->pending() == 0 && (!err_ || err_->pending() == 0);
}

}  // namespace acp::launcher
