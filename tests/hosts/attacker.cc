// An attacker on the network of a job: `attacker INTERFACE PACKETS [FILE]`. It
// reads the frames that go to a host through INTERFACE, and sends forged frames
// to that host. These are repeated, damaged, truncated, lengthened, and with
// other addresses. A FILE that does not exist gets the frames that were read. A
// FILE that exists has the frames of an earlier job, and adds two more kinds of
// attack.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "forger.h"

namespace {

using hosts::Attack;
using hosts::Bytes;
using hosts::Forger;

/// Forged datagrams for each datagram that was read.
constexpr int kForEach = 16;

using File = std::unique_ptr<std::FILE, decltype(&std::fclose)>;

/// A file has frames one behind the other, each behind its size.
void write_frames(const char* path, const std::vector<Bytes>& frames) {
  const File file(std::fopen(path, "wb"), &std::fclose);
  for (const Bytes& frame : frames) {
    const std::uint32_t bytes = static_cast<std::uint32_t>(frame.size());
    if (!file || std::fwrite(&bytes, sizeof bytes, 1, file.get()) != 1 ||
        std::fwrite(frame.data(), bytes, 1, file.get()) != 1) {
      std::perror(path);
      return;
    }
  }
}

/// Empty without the file.
std::vector<Bytes> read_frames(const char* path) {
  std::vector<Bytes> frames;
  if (std::FILE* const opened = std::fopen(path, "rb")) {
    const File file(opened, &std::fclose);
    for (std::uint32_t bytes = 0;
         std::fread(&bytes, sizeof bytes, 1, opened) == 1;) {
      frames.emplace_back(bytes);
      if (std::fread(frames.back().data(), bytes, 1, opened) != 1) {
        std::perror(path);
      }
    }
  }
  return frames;
}

/// Whether the interface has taken all frames of a datagram.
bool send_all(int fd, const std::vector<Bytes>& frames) {
  return std::all_of(frames.begin(), frames.end(), [fd](const Bytes& frame) {
    return ::send(fd, frame.data(), frame.size(), 0) > 0;
  });
}

}  // namespace

/// Ends after PACKETS forged datagrams, or when the job sends no more.
int main(int argc, char** argv) {
  const int fd =
      argc == 3 || argc == 4 ? hosts::open_packet_socket(argv[1]) : -1;
  if (fd < 0) {
    return 1;
  }
  const char* const file = argc == 4 ? argv[3] : nullptr;
  const auto most = std::strtoull(argv[2], nullptr, 10);
  Forger forger(file != nullptr ? read_frames(file) : std::vector<Bytes>());
  const bool is_first_job =
      forger.kinds() == static_cast<std::size_t>(Attack::kEarlierJob);
  std::vector<std::uint64_t> counts(forger.kinds());
  std::uint64_t sent = 0;
  std::size_t turn = 0;
  while (sent < most) {
    const Bytes frame = hosts::next_frame(fd);
    if (frame.empty()) {
      break;
    }
    forger.remember(frame);
    for (int i = 0; i < kForEach; ++i) {
      const std::size_t kind = turn++ % forger.kinds();
      const Bytes forged = forger.forge(static_cast<Attack>(kind), frame);
      if (send_all(fd, hosts::frames_for(forged,
                                         static_cast<std::uint16_t>(turn)))) {
        ++counts[kind];
        ++sent;
      }
    }
  }
  if (file != nullptr && is_first_job) {
    write_frames(file, forger.known());
  }
  for (std::size_t kind = 0; kind < counts.size(); ++kind) {
    std::printf("%s %llu\n", hosts::name_of(static_cast<Attack>(kind)),
                static_cast<unsigned long long>(counts[kind]));
  }
  ::close(fd);
  return 0;
}
