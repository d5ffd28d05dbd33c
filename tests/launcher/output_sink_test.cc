// Tests writing of output to pipes that fill up.
#include "launcher/output_sink.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>

#include <catch2/catch.hpp>

namespace acp::launcher {

TEST_CASE("output sink: writes end at lines where they can", "[launcher]") {
  CHECK(next_write_size("short\nand more") == 14);
  const std::string two =
      std::string(4000, 'a') + "\n" + std::string(4000, 'b') + "\n";
  CHECK(next_write_size(two) == 4001);
  CHECK(next_write_size(std::string(10'000, 'x')) == 4096);
}

TEST_CASE("output sink: a full pipe blocks it, a reader frees it",
          "[launcher]") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  DescriptorSink sink(writer.get());
  std::string text;
  for (int i = 0; i < 40'000; ++i)
    text += std::to_string(i) + "\n";
  sink.buffer() += text;
  CHECK(sink.flush() == SinkState::kBlocked);
  // Not to block is ours alone.
  CHECK((::fcntl(writer.get(), F_GETFL) & O_NONBLOCK) == 0);
  std::string got;
  std::array<char, 5000> buffer{};
  while (sink.state() == SinkState::kBlocked) {
    const ssize_t n = ::read(reader.get(), buffer.data(), buffer.size());
    REQUIRE(n > 0);
    got.append(buffer.data(), static_cast<std::size_t>(n));
    sink.flush();
  }
  while (got.size() < text.size()) {
    const ssize_t n = ::read(reader.get(), buffer.data(), buffer.size());
    REQUIRE(n > 0);
    got.append(buffer.data(), static_cast<std::size_t>(n));
  }
  CHECK(got == text);
}

}  // namespace acp::launcher
