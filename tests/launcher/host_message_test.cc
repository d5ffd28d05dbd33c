// Texts of daemons are made printable: versions in greetings, and reasons.
#include "launcher/host_message.h"

#include <string>

#include <catch2/catch.hpp>

#include "protocol/byte_codec.h"

namespace acp::launcher {

TEST_CASE("host message: a greeting's version is printable and short",
          "[launcher]") {
  const Greeting good = find_greeting("motd\n" + daemon_greeting() + "rest");
  CHECK(good.kind == Greeting::Kind::kGood);
  CHECK(good.size == 5 + daemon_greeting().size());
  const Greeting other = find_greeting("acprun-daemon 1\x1b[2J\r\x9b\n");
  CHECK(other.kind == Greeting::Kind::kOther);
  CHECK(other.version == "1\\x1b[2J\\r\\x9b");
  const Greeting longer =
      find_greeting("acprun-daemon " + std::string(60'000, '7') + "\n");
  CHECK(longer.kind == Greeting::Kind::kOther);
  CHECK(longer.version == std::string(77, '7') + "...");
}

TEST_CASE("host message: a reason is printable and short", "[launcher]") {
  const Reason reason = decode_reason(
      encode_reason({"gone\nacprun: all is well", std::string(1 << 20, 'a')}));
  CHECK(reason.text == "gone\\nacprun: all is well");
  CHECK(reason.advice.size() == 8192);
  CHECK(reason.advice.ends_with("a..."));
}

}  // namespace acp::launcher
