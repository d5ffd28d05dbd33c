// Opens pipes and files for the ranks before the keeper is forked. Called by
// HostPart. Only acprun's ends may be non-blocking: programs expect ends that
// block.
#include "launcher/rank_streams.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/log.h"
#include "launcher/pipe.h"

namespace acp::launcher {

namespace {

Result<UniqueFd> open_file(const std::string& name, int flags) {
  UniqueFd fd(::open(name.c_str(), flags | O_CLOEXEC, 0666));
  if (!fd) {
    log_error("{}: {}", name, errno_text(errno));
    return Status::kSystem;
  }
  return fd;
}

Status open_input(const HostWork& work,
                  std::size_t slot,
                  RankStreams& streams) {
  if (work.ranks[slot].rank != work.input_rank) {
    Result<UniqueFd> null = open_file("/dev/null", O_RDONLY);
    if (!null.ok()) return null.status();
    streams.rank_ends[0] = std::move(*null);
    return Status::kOk;
  }
  auto pipe = make_pipe();
  if (!pipe.ok()) return pipe.status();
  streams.rank_ends[0] = std::move(pipe->read);
  streams.input = std::move(pipe->write);
  set_nonblocking(streams.input.get());
  return Status::kOk;
}

/// With --output-dir the rank writes its file itself and acprun gets no pipe to
/// read. Only acprun's end of a pipe is non-blocking: the rank's end is a
/// standard descriptor, and programs expect it to block.
Status open_output(const HostWork& work,
                   std::size_t slot,
                   std::size_t descriptor,
                   UniqueFd& reader,
                   UniqueFd& writer) {
  if (!work.output_dir.empty()) {
    Result<UniqueFd> file = open_file(
        fmt::format("{}/rank.{}.{}", work.output_dir, work.ranks[slot].rank,
                    descriptor == STDOUT_FILENO ? "out" : "err"),
        O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
    if (!file.ok()) return file.status();
    writer = std::move(*file);
    return Status::kOk;
  }
  auto pipe = make_pipe();
  if (!pipe.ok()) return pipe.status();
  reader = std::move(pipe->read);
  writer = std::move(pipe->write);
  set_nonblocking(reader.get());
  return Status::kOk;
}

}  // namespace

/// The directory is made first, also with its parents.
Result<std::vector<RankStreams>> open_streams(const HostWork& work) {
  const std::string& directory = work.output_dir;
  if (!directory.empty()) {
    std::error_code error;
    const std::filesystem::path above =
        std::filesystem::absolute(directory, error).parent_path();
    if (!std::filesystem::exists(above, error)) {
      log_warning("--output-dir {}: {} was not there, and is made", directory,
                  above.string());
    }
    std::filesystem::create_directories(directory, error);
    if (error) {
      log_error("--output-dir {}: {}", directory, error.message());
      return Status::kSystem;
    }
  }
  std::vector<RankStreams> all(work.ranks.size());
  for (std::size_t slot = 0; slot < all.size(); ++slot) {
    RankStreams& one = all[slot];
    Status status = open_input(work, slot, one);
    if (status == Status::kOk) {
      status =
          open_output(work, slot, STDOUT_FILENO, one.output, one.rank_ends[1]);
    }
    if (status == Status::kOk) {
      status =
          open_output(work, slot, STDERR_FILENO, one.error, one.rank_ends[2]);
    }
    if (status != Status::kOk) return status;
  }
  return all;
}

}  // namespace acp::launcher
