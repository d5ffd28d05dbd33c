#include "transport/shm/doorbell_socket.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/log.h"

namespace acp::shm {

namespace {

struct Name {
  sockaddr_un address{};
  socklen_t size = 0;
};

Name name_of(const protocol::HostSegment& segment, std::uint32_t slot) {
  Name name;
  name.address.sun_family = AF_UNIX;
  const auto& id = segment.header().job_id;
  // sun_path[0] stays 0: an abstract name.
  const auto end = fmt::format_to_n(
      name.address.sun_path + 1, sizeof name.address.sun_path - 1,
      "acp-{:02x}-{}", fmt::join(id.begin(), id.end(), ""), slot);
  name.size =
      static_cast<socklen_t>(end.out - reinterpret_cast<char*>(&name.address));
  return name;
}

}  // namespace

Result<std::unique_ptr<DoorbellSocket>> DoorbellSocket::open(
    const protocol::HostSegment& segment, std::uint32_t my_slot) {
  std::unique_ptr<DoorbellSocket> doorbell(
      new DoorbellSocket(segment, my_slot));
  doorbell->socket_.reset(
      ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const Name name = name_of(segment, my_slot);
  if (!doorbell->socket_ ||
      ::bind(doorbell->socket_.get(),
             reinterpret_cast<const sockaddr*>(&name.address),
             name.size) != 0) {
    log_error("doorbell socket: {}", errno_text(errno));
    return Status::kSystem;
  }
  return doorbell;
}

void DoorbellSocket::wake_thread(const protocol::SliceHeader& slice) noexcept {
  const auto distance =
      reinterpret_cast<const std::byte*>(&slice) - segment_.slice(0);
  ring(static_cast<std::uint32_t>(static_cast<std::uint64_t>(distance) /
                                  segment_.header().slice_stride));
}

void DoorbellSocket::wake_own() noexcept {
  ring(my_slot_);
}

void DoorbellSocket::ring(std::uint32_t slot) noexcept {
  const Name name = name_of(segment_, slot);
  const char token = 1;
  // A full queue means that the sleeper has enough reasons to wake up; a
  // missing socket that its owner is gone.
  (void)::sendto(socket_.get(), &token, sizeof token,
                 MSG_DONTWAIT | MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&name.address), name.size);
}

void DoorbellSocket::drain() noexcept {
  std::array<char, 64> tokens{};
  while (::recv(socket_.get(), tokens.data(), tokens.size(), MSG_DONTWAIT) >
         0) {
  }
}

}  // namespace acp::shm
