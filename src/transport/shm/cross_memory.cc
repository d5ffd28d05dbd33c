// Copies between processes by process_vm_readv and process_vm_writev.
// ShmTransport probes a peer with it, and ShmEndpoint::copy_cross_memory copies
// by it, from any thread. It takes no lock, because a copy of many pages takes
// long.
#include "transport/shm/cross_memory.h"

#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "base/log.h"

namespace acp::shm {

namespace {

Status status_of(int error) noexcept {
  switch (error) {
    case 0: return Status::kOk;
    case EPERM:
    case ENOSYS: return Status::kUnsupported;
    case ESRCH: return Status::kPeerDead;
    case EFAULT: return Status::kBadAddress;
    default: return Status::kSystem;
  }
}

/// The rest of a copy that has ended early, and why it has.
struct Rest {
  std::span<std::byte> local;
  std::uint64_t remote_address = 0;
  int error = 0;  ///< errno; 0 when all was copied.
};

/// Goes on after a short copy, because the kernel may move fewer bytes than
/// asked for. It moves none, without an error, where the peer has mapped
/// nothing behind the moved bytes.
Rest move(pid_t pid,
          transport::Direction direction,
          std::span<std::byte> local,
          std::uint64_t remote_address) noexcept {
  while (!local.empty()) {
    const iovec mine{local.data(), local.size()};
    const iovec theirs{reinterpret_cast<void*>(remote_address), local.size()};
    const ssize_t moved =
        direction == transport::Direction::kGet
            ? ::process_vm_readv(pid, &mine, 1, &theirs, 1, 0)
            : ::process_vm_writev(pid, &mine, 1, &theirs, 1, 0);
    if (moved <= 0) {
      return {local, remote_address, moved < 0 ? errno : EFAULT};
    }
    local = local.subspan(static_cast<std::size_t>(moved));
    remote_address += static_cast<std::uint64_t>(moved);
  }
  return {};
}

/// Whether this process has memory at `address`. A copy that fails with EFAULT
/// does not say whether the local or the remote side has none.
bool is_mapped_here(std::span<const std::byte> local) noexcept {
  std::byte byte{};
  const iovec to{&byte, 1};
  const iovec from{const_cast<std::byte*>(local.data()), 1};
  return ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0) == 1;
}

void log_bad_address(const protocol::ProcRecord& peer,
                     std::span<const std::byte> local,
                     std::uint64_t remote_address) noexcept {
  if (is_mapped_here(local)) {
    log_error(
        "rank {}, pid {}, has nothing at {:#x}, which it registered, or "
        "this process may not write at {}: was it freed before "
        "acp_unregister_memory?",
        peer.rank.load(std::memory_order_relaxed),
        peer.os_pid.load(std::memory_order_relaxed), remote_address,
        static_cast<const void*>(local.data()));
  } else {
    log_error(
        "this process has no memory at {}, {} bytes: was it freed before "
        "acp_unregister_memory?",
        static_cast<const void*>(local.data()), local.size());
  }
}

}  // namespace

CrossMemory::CrossMemory(protocol::ProcRecord& mine, bool is_allowed) noexcept
    : is_allowed_(is_allowed) {
  if (::getrandom(&probe_word_, sizeof probe_word_, 0) !=
      static_cast<ssize_t>(sizeof probe_word_)) {
    probe_word_ = 0;
    is_allowed_.store(false, std::memory_order_relaxed);
  }
  mine.probe_value.store(probe_word_, std::memory_order_relaxed);
  mine.probe_address.store(reinterpret_cast<std::uintptr_t>(&probe_word_),
                           std::memory_order_release);
}

/// Logs no bad address: the pid may belong to another process, in which the
/// probe word's address means nothing.
bool CrossMemory::probe(const protocol::ProcRecord& peer) noexcept {
  if (!is_allowed_.load(std::memory_order_relaxed)) {
    return false;
  }
  const std::uint64_t address =
      peer.probe_address.load(std::memory_order_acquire);
  const std::uint64_t expected =
      peer.probe_value.load(std::memory_order_relaxed);
  const auto pid =
      static_cast<pid_t>(peer.os_pid.load(std::memory_order_relaxed));
  std::uint64_t word = 0;
  const auto bytes = std::as_writable_bytes(std::span(&word, 1));
  for (const auto direction :
       {transport::Direction::kGet, transport::Direction::kPut}) {
    const Rest rest = move(pid, direction, bytes, address);
    if (status_of(rest.error) == Status::kUnsupported) {
      note_refusal(pid, rest.error);
    }
    if (rest.error != 0 || word != expected) {
      return false;
    }
  }
  return true;
}

/// A failure that only this copy has is logged here, with what is left of it.
Status CrossMemory::copy(const protocol::ProcRecord& peer,
                         transport::Direction direction,
                         std::span<std::byte> local,
                         std::uint64_t remote_address) noexcept {
  if (!is_allowed_.load(std::memory_order_relaxed)) {
    return Status::kUnsupported;
  }
  const auto pid =
      static_cast<pid_t>(peer.os_pid.load(std::memory_order_relaxed));
  const Rest rest = move(pid, direction, local, remote_address);
  const Status status = status_of(rest.error);
  if (status == Status::kUnsupported) {
    note_refusal(pid, rest.error);
  } else if (status == Status::kBadAddress) {
    log_bad_address(peer, rest.local, rest.remote_address);
  } else if (status == Status::kSystem) {
    log_error("process_vm_readv or writev with pid {}: {}", pid,
              errno_text(rest.error));
  }
  return status;
}

/// A refusal for good holds for all peers, so no copy is tried after it.
void CrossMemory::note_refusal(pid_t pid, int error) noexcept {
  is_allowed_.store(false, std::memory_order_relaxed);
  log(LogLevel::kInfo,
      "process_vm_readv or writev with pid {}: {}; such copies go through the "
      "owner's progress thread",
      pid, errno_text(error));
}

}  // namespace acp::shm
