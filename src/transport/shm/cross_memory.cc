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
    case EPERM:
    case ENOSYS: return Status::kUnsupported;
    case ESRCH: return Status::kPeerDead;
    case EFAULT: return Status::kBadAddress;
    default: return Status::kSystem;
  }
}

/// Makes one system call. Returns the number of bytes moved, or -1.
ssize_t move_some(pid_t pid,
                  transport::Direction direction,
                  std::span<std::byte> local,
                  std::uint64_t remote_address) noexcept {
  const iovec mine{local.data(), local.size()};
  const iovec theirs{reinterpret_cast<void*>(remote_address), local.size()};
  return direction == transport::Direction::kGet
             ? ::process_vm_readv(pid, &mine, 1, &theirs, 1, 0)
             : ::process_vm_writev(pid, &mine, 1, &theirs, 1, 0);
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

bool CrossMemory::probe(const protocol::ProcRecord& peer) noexcept {
  const std::uint64_t address =
      peer.probe_address.load(std::memory_order_acquire);
  const std::uint64_t expected =
      peer.probe_value.load(std::memory_order_relaxed);
  std::uint64_t word = 0;
  const auto bytes = std::as_writable_bytes(std::span(&word, 1));
  if (copy(peer, transport::Direction::kGet, bytes, address) != Status::kOk ||
      word != expected) {
    return false;
  }
  return copy(peer, transport::Direction::kPut, bytes, address) == Status::kOk;
}

/// Goes on after a short copy, because the kernel may move fewer bytes than
/// asked for. A refusal for good holds for all peers, so no copy is tried after
/// it.
Status CrossMemory::copy(const protocol::ProcRecord& peer,
                         transport::Direction direction,
                         std::span<std::byte> local,
                         std::uint64_t remote_address) noexcept {
  if (!is_allowed_.load(std::memory_order_relaxed)) {
    return Status::kUnsupported;
  }
  const auto pid =
      static_cast<pid_t>(peer.os_pid.load(std::memory_order_relaxed));
  while (!local.empty()) {
    const ssize_t moved = move_some(pid, direction, local, remote_address);
    if (moved < 0) {
      const int error = errno;
      const Status status = status_of(error);
      if (status == Status::kSystem) {
        log_error("process_vm_readv or writev with pid {}: {}", pid,
                  errno_text(error));
      } else if (status == Status::kBadAddress) {
        log_bad_address(peer, local, remote_address);
      }
      if (status == Status::kUnsupported) {
        is_allowed_.store(false, std::memory_order_relaxed);
        log(LogLevel::kInfo,
            "process_vm_readv to pid {}: {}; such copies go through the "
            "owner's progress thread",
            pid, errno_text(error));
      }
      return status;
    }
    if (moved == 0) {
      return Status::kBadAddress;  // the peer has mapped nothing behind the
                                   // moved bytes
    }
    local = local.subspan(static_cast<std::size_t>(moved));
    remote_address += static_cast<std::uint64_t>(moved);
  }
  return Status::kOk;
}

}  // namespace acp::shm
