// Tests which peers udp talks to.
#include <array>
#include <string>

#include <catch2/catch.hpp>

#include "support/stderr_capture.h"
#include "udp/peer_admission.h"

namespace acp::udp {

namespace {

Address address(const std::string& text) {
  const auto parsed = transport::parse_address(text);
  REQUIRE(parsed);
  return *parsed;
}

AddressCard card_of(std::initializer_list<const char*> addresses) {
  AddressCard card;
  for (const char* one : addresses) {
    card.addresses[card.colors++] = address(one);
  }
  return card;
}

}  // namespace

TEST_CASE("udp peer: addresses of one version fit, both or none loopback",
          "[udp]") {
  const std::array mine = {address("10.0.0.1")};
  CHECK(why_unfit(card_of({"10.0.0.2"}), mine).empty());
  CHECK(why_unfit(card_of({"fd00::2"}), mine).find("of one IP version") !=
        std::string::npos);
  CHECK(why_unfit(card_of({"127.0.0.1"}), mine).find("none loopback") !=
        std::string::npos);
  CHECK(why_unfit(card_of({"10.0.0.2", "10.1.0.2"}), mine) ==
        "has 2 colors, this one has 1");
}

TEST_CASE("udp peer: the first refused peer is logged, and no other", "[udp]") {
  const std::array mine = {address("10.0.0.1")};
  PeerAdmission admission(Security::kOff, transport::name_at_launch);
  CHECK(admission.admit(1, card_of({"10.0.0.2"}), mine) == Status::kOk);
  CHECK_FALSE(admission.is_unreported());
  spmd::StderrCapture captured;
  CHECK(admission.admit(2, Status::kProtocol, mine) == Status::kProtocol);
  CHECK(admission.is_unreported());
  CHECK(admission.admit(3, Status::kProtocol, mine) == Status::kBadOption);
  const std::string text = captured.stop();
  CHECK(text.find("rank 2 has no valid address card") != std::string::npos);
  CHECK(text.find("rank 3") == std::string::npos);
}

TEST_CASE("udp peer: another protection of packets is refused", "[udp]") {
  const std::array mine = {address("10.0.0.1")};
  PeerAdmission admission(Security::kEncrypt, transport::name_at_launch);
  spmd::StderrCapture captured;
  CHECK(admission.admit(1, card_of({"10.0.0.2"}), mine) == Status::kBadOption);
  CHECK(captured.stop().find("rank 1 has packets unprotected, this one has "
                             "them encrypted") != std::string::npos);
}

TEST_CASE("udp peer: the end of the job refuses no peer", "[udp]") {
  const std::array mine = {address("10.0.0.1")};
  PeerAdmission admission(Security::kOff, transport::name_at_launch);
  CHECK(admission.admit(1, Status::kAborted, mine) == Status::kAborted);
  CHECK_FALSE(admission.is_unreported());
}

}  // namespace acp::udp
