// Tests that acprun reads what a rank has sent before it was gone.
#include "launcher/bootstrap_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include <catch2/catch.hpp>

#include "launcher/event_loop.h"

namespace acp::launcher {

using protocol::BootstrapMessage;
using protocol::BootstrapType;

// The kernel tells of the unread message before it gives out what the rank has
// sent (recv fails with ECONNRESET).
TEST_CASE("bootstrap server: a rank that left a message unread is heard",
          "[launcher]") {
  const bool is_unread = GENERATE(false, true);
  EventLoop loop;
  REQUIRE(loop.open() == Status::kOk);
  BootstrapServer server;
  REQUIRE(server.open(protocol::HostPlan()) == Status::kOk);
  std::vector<BootstrapType> heard;
  const auto hear = [&](std::uint32_t slot,
                        std::optional<BootstrapMessage> message) {
    REQUIRE(slot == 0);
    REQUIRE(message);
    heard.push_back(message->type);
  };
  REQUIRE(server.serve(loop, hear) == Status::kOk);
  if (is_unread) {
    server.go(protocol::Phase::kFinalize);
  }
  const auto bytes =
      protocol::encode_bootstrap({BootstrapType::kFinalized, 0, {}});
  REQUIRE(::send(server.rank_ends()[0].get(), bytes.data(), bytes.size(), 0) ==
          static_cast<ssize_t>(bytes.size()));
  server.close_rank_ends();
  server.catch_up();
  CHECK(heard == std::vector{BootstrapType::kFinalized});
}

}  // namespace acp::launcher
