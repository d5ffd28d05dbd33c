// Tries process_vm_readv and process_vm_writev: forks two children, of which
// one copies from and to the other. Called by the checks and the facts. No
// child may be left behind.
#include <fcntl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/log.h"
#include "base/unique_fd.h"
#include "probes.h"

namespace acp::info {

namespace {

// The word has one address in both children, because both are forks.
volatile std::uint64_t probed_word = 0;

constexpr std::uint64_t kOwners = 0x0123456789abcdef;
constexpr std::uint64_t kWritten = 0xfedcba9876543210;

/// The children's exit status is 0, an errno, or this.
constexpr int kWrongBytes = 255;

/// The first child: owns the word until the pipe's other end closes. Exits with
/// 0 when the word then has the value that the second child wrote.
[[noreturn]] void run_owner(int ready, int end) {
  probed_word = kOwners;
  char byte = 1;
  if (::write(ready, &byte, 1) == 1) {
    (void)!::read(end, &byte, 1);
  }
  ::_exit(probed_word == kWritten ? 0 : kWrongBytes);
}

/// The second child: reads the owner's word, and writes a new value.
[[noreturn]] void run_copier(pid_t owner) {
  std::uint64_t word = 0;
  const iovec mine{&word, sizeof(word)};
  const iovec theirs{const_cast<std::uint64_t*>(&probed_word), sizeof(word)};
  if (::process_vm_readv(owner, &mine, 1, &theirs, 1, 0) != sizeof(word)) {
    ::_exit(errno);
  }
  if (word != kOwners) ::_exit(kWrongBytes);
  word = kWritten;
  if (::process_vm_writev(owner, &mine, 1, &theirs, 1, 0) != sizeof(word)) {
    ::_exit(errno);
  }
  ::_exit(0);
}

/// Waits for a child. Returns its exit status; -1 when it did not exit by
/// itself.
int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct Pipe {
  UniqueFd reader;
  UniqueFd writer;

  bool open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    reader.reset(ends[0]);
    writer.reset(ends[1]);
    return true;
  }
};

std::string describe(int copier, int owner) {
  if (copier == kWrongBytes || (copier == 0 && owner != 0)) {
    return "process_vm_readv or writev moved wrong bytes";
  }
  return fmt::format(
      "process_vm_readv or writev: {}",
      copier < 0 ? "the process was killed" : errno_text(copier));
}

}  // namespace

/// The pipe `ready` says that the owner has its word; closing `end` lets the
/// owner look at it.
Probe probe_cross_memory() {
  Pipe ready;
  Pipe end;
  if (!ready.open() || !end.open()) {
    return {false, fmt::format("pipe: {}", errno_text(errno))};
  }
  const pid_t owner = ::fork();
  if (owner == 0) {
    end.writer.reset();
    run_owner(ready.writer.get(), end.reader.get());
  }
  ready.writer.reset();
  char byte = 0;
  if (owner < 0 || ::read(ready.reader.get(), &byte, 1) != 1) {
    if (owner > 0) wait_for(owner);
    return {false, fmt::format("fork: {}", errno_text(errno))};
  }
  const pid_t copier = ::fork();
  if (copier == 0) run_copier(owner);
  const int copied = copier > 0 ? wait_for(copier) : errno;
  end.writer.reset();
  const int held = wait_for(owner);
  if (copied == 0 && held == 0) {
    return {true, "process_vm_readv and writev between processes"};
  }
  return {false, describe(copied, held)};
}

}  // namespace acp::info
