// Tests of WriteQueue over a pipe.
#include "launcher/write_queue.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <memory>
#include <string>

#include <catch2/catch.hpp>

#include "launcher/pipe.h"

namespace acp::launcher {

namespace {

using Outcome = WriteQueue::Outcome;

SharedBytes message(std::size_t bytes, char letter) {
  return std::make_shared<const std::string>(bytes, letter);
}

/// Reads what is in the pipe.
std::string read_some(const Pipe& pipe) {
  std::string text(1 << 20, '\0');
  const ssize_t n = ::read(pipe.read.get(), text.data(), text.size());
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

Pipe make_nonblocking_pipe() {
  auto pipe = make_pipe();
  REQUIRE(pipe.ok());
  set_nonblocking(pipe->read.get());
  set_nonblocking(pipe->write.get());
  return std::move(*pipe);
}

}  // namespace

TEST_CASE("write queue: messages are written in order, behind a first one",
          "[launcher][write_queue]") {
  const Pipe pipe = make_nonblocking_pipe();
  WriteQueue queue;
  CHECK(queue.write_to(pipe.write.get()) == Outcome::kAllWritten);
  queue.push(message(2, 'b'));
  queue.push(message(1, 'c'));
  queue.push_first(message(3, 'a'));
  CHECK(queue.size() == 3);
  CHECK(queue.write_to(pipe.write.get()) == Outcome::kAllWritten);
  CHECK(queue.size() == 0);
  CHECK(read_some(pipe) == "aaabbc");
}

TEST_CASE("write queue: a full pipe takes the rest of a message later",
          "[launcher][write_queue]") {
  const Pipe pipe = make_nonblocking_pipe();
  constexpr std::size_t kLarge = 300'000;
  WriteQueue queue;
  queue.push(message(kLarge, 'a'));
  queue.push(message(1, 'b'));
  std::string received;
  int fulls = 0;
  while (queue.write_to(pipe.write.get()) == Outcome::kFull) {
    ++fulls;
    const std::string some = read_some(pipe);
    REQUIRE_FALSE(some.empty());
    received += some;
  }
  received += read_some(pipe);
  CHECK(fulls > 0);
  CHECK(received == std::string(kLarge, 'a') + "b");
}

TEST_CASE("write queue: a closed pipe is broken", "[launcher][write_queue]") {
  Pipe pipe = make_nonblocking_pipe();
  pipe.read.reset();

  struct sigaction ignored {};

  ignored.sa_handler = SIG_IGN;

  struct sigaction before {};

  REQUIRE(::sigaction(SIGPIPE, &ignored, &before) == 0);
  WriteQueue queue;
  queue.push(message(1, 'a'));
  CHECK(queue.write_to(pipe.write.get()) == Outcome::kBroken);
  ::sigaction(SIGPIPE, &before, nullptr);
  CHECK(queue.size() == 1);
  queue.clear();
  CHECK(queue.write_to(pipe.write.get()) == Outcome::kAllWritten);
}

}  // namespace acp::launcher
