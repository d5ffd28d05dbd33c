// A flood on the network of a job: `flooder INTERFACE RATE`. It reads frames
// that go to a host through INTERFACE, and forges datagrams of each kind from
// them. It sends these RATE times a second until SIGTERM. Then it prints how
// many datagrams the interface has accepted, and in which time. flood.sh starts
// it.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "forger.h"

namespace {

using hosts::Attack;
using hosts::Bytes;
using std::chrono::steady_clock;

constexpr std::size_t kFramesRead = 64;
/// Most frames that a call sends.
constexpr std::size_t kBatch = 64;

volatile std::sig_atomic_t g_is_over = 0;

/// The frames that are sent again and again. The datagrams of several frames
/// are left out, because a rate counts datagrams.
std::vector<Bytes> make_frames(int fd) {
  hosts::Forger forger({});
  std::vector<Bytes> frames;
  for (std::size_t i = 0; i < kFramesRead; ++i) {
    const Bytes read = hosts::next_frame(fd);
    if (read.empty()) {
      return {};
    }
    forger.remember(read);
    for (std::size_t kind = 0; kind < forger.kinds(); ++kind) {
      auto forged =
          hosts::frames_for(forger.forge(static_cast<Attack>(kind), read), 0);
      if (forged.size() == 1) {
        frames.push_back(std::move(forged[0]));
      }
    }
  }
  return frames;
}

/// Sends up to `count` frames from number `first` on. Returns how many the
/// interface has accepted.
std::size_t send_some(int fd,
                      std::vector<Bytes>& frames,
                      std::size_t first,
                      std::size_t count) {
  std::vector<iovec> parts(count);
  std::vector<mmsghdr> messages(count);
  for (std::size_t i = 0; i < count; ++i) {
    Bytes& frame = frames[(first + i) % frames.size()];
    parts[i] = {frame.data(), frame.size()};
    messages[i].msg_hdr.msg_iov = &parts[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  const int sent =
      ::sendmmsg(fd, messages.data(), static_cast<unsigned>(count), 0);
  return sent > 0 ? static_cast<std::size_t>(sent) : 0;
}

/// At each time as many datagrams have been sent as the rate allows by then, or
/// as many as this processor can send.
std::uint64_t flood(int fd, std::vector<Bytes>& frames, double rate) {
  const auto begin = steady_clock::now();
  std::uint64_t sent = 0;
  while (g_is_over == 0) {
    const std::chrono::duration<double> passed = steady_clock::now() - begin;
    const auto due = static_cast<std::uint64_t>(passed.count() * rate);
    if (due <= sent) {
      std::this_thread::yield();
      continue;
    }
    sent += send_some(fd, frames, static_cast<std::size_t>(sent),
                      std::min<std::size_t>(kBatch, due - sent));
  }
  const std::chrono::duration<double> took = steady_clock::now() - begin;
  std::printf("flood: %llu datagrams in %.2f s, %.0f a second\n",
              static_cast<unsigned long long>(sent), took.count(),
              static_cast<double>(sent) / took.count());
  return sent;
}

}  // namespace

/// Fails when the job sends nothing, or the interface accepts nothing.
int main(int argc, char** argv) {
  const int fd = argc == 3 ? hosts::open_packet_socket(argv[1]) : -1;
  if (fd < 0) {
    return 1;
  }
  std::signal(SIGTERM, [](int) { g_is_over = 1; });
  std::vector<Bytes> frames = make_frames(fd);
  const bool is_sent =
      !frames.empty() && flood(fd, frames, std::strtod(argv[2], nullptr)) > 0;
  ::close(fd);
  return is_sent ? 0 : 1;
}
