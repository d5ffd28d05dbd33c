// Tests of the memory of each other that the two ends of an endpoint know. They
// are on control frames, the registrations of a peer, and this process's own
// regions.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "transport/fake_device.h"
#include "transport/registrations/control.h"
#include "transport/registrations/peer_memory.h"
#include "transport/registrations/regions.h"

namespace acp::transport {

namespace {

using Bytes = std::vector<std::byte>;
using Memory = PeerMemory<int>;

Control region_frame() {
  return {.kind = ControlKind::kRegistration,
          .key = 5,
          .epoch = 2,
          .offset = 64,
          .state = 0x1234,
          .size = 4096,
          .address = 0x7f0000001000,
          .rkey = Bytes(17, std::byte{0xab})};
}

RemoteStep step_of(std::uint32_t key, std::uint64_t state) {
  RemoteStep step;
  step.key = key;
  step.state = state;
  step.state_mask = 0xff;
  return step;
}

std::optional<int> unpack(const Bytes& rkey) {
  return rkey.size() == 1 ? std::optional(static_cast<int>(rkey[0]))
                          : std::nullopt;
}

/// Finds registrations of a peer, and keeps the questions to the peer.
struct Asker {
  Memory memory;
  std::vector<Control> asked;
  PeerRegistration<int>* theirs = nullptr;

  Feasible find(const RemoteStep& step, std::uint64_t offset) {
    return memory.find_for(step, offset, theirs, [this](const Control& want) {
      asked.push_back(want);
    });
  }
};

struct FakeHolder final : Holder {
  std::vector<std::uint32_t> revoked;

  void revoke(const Region& region) override { revoked.push_back(region.key); }
};

Control want(std::uint32_t key, std::uint64_t offset) {
  return {.kind = ControlKind::kWant, .key = key, .offset = offset};
}

}  // namespace

TEST_CASE("registrations: a control frame comes out as it went in",
          "[registrations]") {
  CHECK(decode_control(encode_control(region_frame())) == region_frame());
  Control revoke = region_frame();
  revoke.kind = ControlKind::kRevoke;
  revoke.rkey.clear();
  CHECK(decode_control(encode_control(revoke)) == revoke);
  Control announced = region_frame();
  announced.kind = ControlKind::kAnnounce;
  CHECK(decode_control(encode_control(announced)) == announced);
  Control denied = region_frame();
  denied.size = 0;
  denied.rkey.clear();
  CHECK(decode_control(encode_control(denied)) == denied);
}

TEST_CASE("registrations: damaged control frames are refused",
          "[registrations]") {
  const Bytes good = encode_control(region_frame());
  for (std::size_t size = 0; size < good.size(); ++size) {
    INFO(size);
    CHECK_FALSE(decode_control(std::span(good).first(size)).has_value());
  }
  Control wrong = region_frame();
  wrong.rkey.clear();  // a registration without the means to reach it
  CHECK_FALSE(decode_control(encode_control(wrong)).has_value());
  wrong = region_frame();
  wrong.size = 0;  // an rkey of no registration
  CHECK_FALSE(decode_control(encode_control(wrong)).has_value());
  wrong = region_frame();
  wrong.size = UINT64_MAX - 63;  // its offsets wrap around
  CHECK_FALSE(decode_control(encode_control(wrong)).has_value());
  wrong.offset = 0;  // its addresses do
  CHECK_FALSE(decode_control(encode_control(wrong)).has_value());
  for (const auto& [at, value] : {std::pair{0U, 0U}, {0U, 6U}, {2U, 1U}}) {
    Bytes bytes = good;
    bytes[at] = static_cast<std::byte>(value);
    CHECK_FALSE(decode_control(bytes).has_value());
  }
}

// The registrations have gaps between them. Each border is looked up from both
// sides.
TEST_CASE("registrations: a peer's registrations are found by key and offset",
          "[registrations]") {
  Memory memory;
  CHECK(memory.find(3, 0) == nullptr);
  memory.add({.key = 3, .state = 1, .offset = 8, .size = 100});
  memory.add({.key = 1, .state = 1, .offset = 0, .size = 50});
  memory.add({.key = 1, .state = 1, .offset = 100, .size = 50});
  CHECK(memory.find(3, 7) == nullptr);
  REQUIRE(memory.find(3, 8) != nullptr);
  REQUIRE(memory.find(3, 107) != nullptr);
  CHECK(memory.find(3, 107)->key == 3);
  CHECK(memory.find(3, 108) == nullptr);
  CHECK(memory.find(2, 8) == nullptr);
  CHECK(memory.find(1, 49)->offset == 0);
  CHECK(memory.find(1, 50) == nullptr);
  CHECK(memory.find(1, 149)->offset == 100);
  CHECK(memory.find(1, ~std::uint64_t{0}) == nullptr);
  memory.clear();
  CHECK(memory.find(1, 0) == nullptr);
}

TEST_CASE("registrations: one in use outlives its revocation",
          "[registrations]") {
  Memory memory;
  memory.add({.key = 3, .state = 1, .offset = 0, .size = 100, .rkey = 1});
  CHECK(memory.revoke(4, 1));  // no registration has this key
  CHECK(memory.revoke(3, 2));  // the registration has another state and stays
  PeerRegistration<int>* registration = memory.find(3, 0);
  REQUIRE(registration != nullptr);
  registration->uses = 1;
  CHECK_FALSE(memory.revoke(3, 1));
  CHECK(registration->is_revoked);
  // A new region of that key is not added while the revoked registration is in
  // use.
  memory.add({.key = 3, .state = 2, .offset = 0, .size = 100, .rkey = 2});
  CHECK(memory.find(3, 0)->rkey == 1);
  // An unused registration of the region is revoked at once, but revoke() is
  // true only after the last use of all its registrations.
  memory.add({.key = 3, .state = 1, .offset = 200, .size = 100, .rkey = 4});
  CHECK_FALSE(memory.revoke(3, 1));
  CHECK(memory.find(3, 200) == nullptr);
  registration->uses = 0;
  CHECK(memory.revoke(3, 1));
  CHECK(memory.find(3, 0) == nullptr);
  memory.add({.key = 3, .state = 2, .offset = 0, .size = 100, .rkey = 2});
  CHECK(memory.find(3, 0)->rkey == 2);
}

TEST_CASE("registrations: all of a peer that is gone end with their last use",
          "[registrations]") {
  Memory memory;
  memory.add({.key = 1, .state = 1, .offset = 0, .size = 100});
  memory.add({.key = 2, .state = 1, .offset = 0, .size = 100});
  memory.find(2, 0)->uses = 1;
  memory.revoke_all();
  CHECK(memory.find(1, 0) == nullptr);
  REQUIRE(memory.find(2, 0) != nullptr);
  CHECK(memory.find(2, 0)->is_revoked);
}

TEST_CASE("registrations: an unknown one is asked for, one at a time",
          "[registrations]") {
  Asker asker;
  const RemoteStep step = step_of(3, 0x51);
  CHECK(asker.find(step, 8) == Feasible::kLater);
  CHECK(asker.find(step, 8) == Feasible::kLater);
  CHECK(asker.find(step_of(4, 1), 0) == Feasible::kLater);
  REQUIRE(asker.asked.size() == 1);
  CHECK(asker.asked[0] == want(3, 8));
  asker.memory.on_registration(
      {.kind = ControlKind::kRegistration,
       .key = 3,
       .state = 0x151,  // equal at the bits of the mask
       .size = 64,
       .rkey = Bytes(1, std::byte{9})},
      unpack);
  CHECK(asker.find(step, 8) == Feasible::kNow);
  CHECK(asker.theirs->rkey == 9);
  CHECK(asker.find(step_of(4, 1), 0) == Feasible::kLater);
  CHECK(asker.asked.size() == 2);
}

TEST_CASE(
    "registrations: a refusal is told to some tries of the step that asked",
    "[registrations]") {
  const RemoteStep step = step_of(3, 0x51);
  const Control none{.kind = ControlKind::kRegistration, .key = 3};
  Control other{.kind = ControlKind::kRegistration,
                .key = 3,
                .state = 0x52,
                .size = 64,
                .rkey = Bytes(1, std::byte{9})};
  Control useless = other;
  useless.state = 0x51;
  useless.rkey.resize(2);
  for (const Control& answer : {none, other, useless}) {
    Asker asker;
    CHECK(asker.find(step, 0) == Feasible::kLater);
    asker.memory.on_registration(answer, unpack);
    for (int i = 0; i < Question::kTriesOfDenial; ++i) {
      CHECK(asker.find(step, 0) == Feasible::kNever);
    }
    CHECK(asker.asked.size() == 1);
    CHECK(asker.find(step, 0) == Feasible::kLater);
    CHECK(asker.asked.size() == 2);
  }
  Asker asker;
  CHECK(asker.find(step, 0) == Feasible::kLater);
  asker.memory.on_registration(none, unpack);
  CHECK(asker.find(step, 8) == Feasible::kLater);  // another byte: asks anew
  CHECK(asker.asked.size() == 2);
  asker.memory.clear();
  CHECK(asker.find(step, 0) == Feasible::kLater);
  CHECK(asker.asked.size() == 3);
}

TEST_CASE("registrations: an announced one is not asked for",
          "[registrations]") {
  Asker asker;
  const RemoteStep step = step_of(4, 0x17);
  Control told = region_frame();
  told.kind = ControlKind::kAnnounce;
  told.key = 4;
  told.state = 0x17;
  CHECK_FALSE(asker.memory.on_announce(told, unpack));  // 17 bytes of rkey
  CHECK(asker.memory.find(4, 64) == nullptr);
  told.rkey.resize(1);
  CHECK(asker.memory.on_announce(told, unpack));
  CHECK(asker.find(step, 100) == Feasible::kNow);
  CHECK(asker.asked.empty());
  told.size = 0;
  CHECK_FALSE(asker.memory.on_announce(told, unpack));
}

TEST_CASE("registrations: an announcement answers no question",
          "[registrations]") {
  Asker asker;
  CHECK(asker.find(step_of(4, 0x17), 100) == Feasible::kLater);
  Control told = region_frame();
  told.kind = ControlKind::kAnnounce;
  told.rkey.resize(1);
  CHECK(told.key == 5);
  CHECK(asker.memory.on_announce(told, unpack));
  CHECK(asker.find(step_of(4, 0x17), 100) == Feasible::kLater);
  CHECK(asker.asked.size() == 1);  // still open
  asker.memory.on_registration({.kind = ControlKind::kRegistration, .key = 4},
                               unpack);
  CHECK(asker.find(step_of(4, 0x17), 100) == Feasible::kNever);
}

TEST_CASE("registrations: a revoked one in use holds steps up",
          "[registrations]") {
  Asker asker;
  asker.memory.add({.key = 3, .state = 0x51, .offset = 0, .size = 64});
  CHECK(asker.find(step_of(3, 0x51), 0) == Feasible::kNow);
  asker.theirs->uses = 1;
  CHECK_FALSE(asker.memory.revoke(3, 0x51));
  CHECK(asker.find(step_of(3, 0x51), 0) == Feasible::kLater);
  CHECK(asker.asked.empty());
}

// The region does not begin at a multiple of kRegistrationBytes, so its first
// and last registration are shorter. Bytes outside must register nothing.
TEST_CASE("registrations: a region has several, each made once",
          "[registrations][regions]") {
  FakeRegions regions(1);
  FakeDevice device;
  FakeHolder holder;
  constexpr std::uint64_t kSkew = 24;
  constexpr std::uint64_t kSize = kRegistrationBytes + 100;
  regions.add(
      {.key = 3, .state = 1, .address = memory_at(kSkew), .size = kSize});
  const auto answer = [&](std::uint64_t offset) {
    return regions.answer(want(3, offset), device, false, holder);
  };
  CHECK(answer(kSkew - 1).size == 0);
  CHECK(answer(kSkew + kSize).size == 0);
  CHECK(regions.answer(want(4, 0), device, false, holder).size == 0);
  CHECK(device.made == 0);
  const Control first = answer(kSkew);
  CHECK(first.offset == kSkew);
  CHECK(first.size == kRegistrationBytes - kSkew);
  CHECK(first.address == reinterpret_cast<std::uintptr_t>(memory_at(kSkew)));
  CHECK(first.state == 1);
  CHECK(first.rkey == Bytes(1, std::byte{7}));
  CHECK(answer(kRegistrationBytes - 1) == first);
  CHECK(device.made == 1);
  const Control last = answer(kRegistrationBytes);
  CHECK(last.offset == kRegistrationBytes);
  CHECK(last.size == kSkew + 100);
  CHECK(device.made == 2);
  const auto* mine = regions.live(3);
  CHECK(mine->offset_of(memory_at(kSkew) + 5) == kSkew + 5);
}

TEST_CASE("registrations: a region is announced once to each peer",
          "[registrations][regions]") {
  FakeRegions regions(1);
  FakeDevice device;
  FakeHolder holder;
  constexpr std::uint64_t kSize = 6 * kRegistrationBytes;
  regions.add({.key = 3, .state = 1, .address = memory_at(0), .size = kSize});
  const auto announce = [&](std::uint64_t offset, std::uint64_t size) {
    return regions.announce({.key = 3, .offset = offset, .size = size}, device,
                            false, holder);
  };
  CHECK(regions.announce({.key = 4, .size = 8}, device, false, holder).empty());
  CHECK(announce(kSize, 8).empty());

  SECTION("the bytes lie in two registrations") {
    const auto frames = announce(kRegistrationBytes - 4, 8);
    REQUIRE(frames.size() == 2);
    for (const Control& frame : frames) {
      CHECK(frame.kind == ControlKind::kAnnounce);
      CHECK(frame.size == kRegistrationBytes);
      CHECK(frame.state == 1);
    }
    CHECK(frames[0].offset == 0);
    CHECK(frames[1].offset == kRegistrationBytes);
    CHECK(announce(0, 8).empty());
    CHECK(device.made == 2);
  }
  SECTION("no more than kMaxAnnounced registrations") {
    CHECK(announce(0, kSize).size() == kMaxAnnounced);
    CHECK(device.made == kMaxAnnounced);
  }
  SECTION("not to a peer that has asked") {
    CHECK(regions.answer(want(3, 0), device, false, holder).size != 0);
    CHECK(announce(0, 8).empty());
  }
  SECTION("the device refuses the memory") {
    device.refuses = true;
    CHECK(announce(0, 8).empty());
    CHECK(regions.remove(3, 1));  // the peer is no holder
    return;
  }
  CHECK_FALSE(regions.remove(3, 1));
  CHECK(holder.revoked == std::vector<std::uint32_t>{3});
  regions.drop_holder(3, 1, holder);
  CHECK(regions.remove(3, 1));
}

TEST_CASE("registrations: a region is reached in its color",
          "[registrations][regions]") {
  FakeRegions regions(2);
  FakeHolder holder;
  regions.add(
      {.key = 0, .state = 1, .address = memory_at(0), .size = 100, .color = 1});
  FakeDevice device;
  CHECK(regions.answer(want(0, 0), device, false, holder).size == 0);
  CHECK(regions.answer(want(0, 0), device, true, holder).size == 100);
  device.my_color = 1;
  CHECK(regions.answer(want(0, 0), device, false, holder).size == 100);
}

TEST_CASE("registrations: a refusal is a warning once and not tried again",
          "[registrations][regions]") {
  FakeRegions regions(1);
  FakeHolder holder;
  FakeDevice device{.refuses = true};
  for (const std::uint32_t key : {0U, 1U}) {
    regions.add({.key = key, .state = 1, .address = memory_at(0), .size = 100});
    CHECK(regions.answer(want(key, 0), device, false, holder).size == 0);
    CHECK(regions.answer(want(key, 0), device, false, holder).size == 0);
  }
  CHECK(device.refusals == std::vector{LogLevel::kWarning, LogLevel::kDebug});
  CHECK(regions.remove(0, 1));  // a peer that was refused is no holder
}

TEST_CASE("registrations: a region ends when nothing uses it",
          "[registrations][regions]") {
  FakeRegions regions(1);
  FakeDevice device;
  std::array<FakeHolder, 2> holders;
  regions.add({.key = 3, .state = 1, .address = memory_at(0), .size = 100});
  for (FakeHolder& holder : holders) {
    CHECK(regions.answer(want(3, 0), device, false, holder).size == 100);
  }
  regions.live(3)->begin_use();
  auto* mine = regions.live(3);
  CHECK(regions.remove(3, 2));  // no such region
  CHECK_FALSE(regions.remove(3, 1));
  CHECK_FALSE(regions.remove(3, 1));
  CHECK(regions.live(3) == nullptr);
  for (FakeHolder& holder : holders) {
    CHECK(holder.revoked == std::vector<std::uint32_t>{3});
  }
  regions.drop_holder(3, 1, holders[0]);
  CHECK_FALSE(regions.remove(3, 1));
  regions.drop_holder(holders[1]);
  CHECK_FALSE(regions.remove(3, 1));
  mine->end_use();
  CHECK(regions.remove(3, 1));
}

TEST_CASE("registrations: a confirmation for a former region drops no holder",
          "[registrations][regions]") {
  FakeRegions regions(1);
  FakeDevice device;
  FakeHolder holder;
  regions.add({.key = 3, .state = 1, .address = memory_at(0), .size = 100});
  CHECK(regions.answer(want(3, 0), device, false, holder).size == 100);
  regions.drop_holder(3, 1, holder);  // the region is live
  CHECK_FALSE(regions.remove(3, 1));
  regions.drop_holder(3, 1, holder);
  CHECK(regions.remove(3, 1));
  CHECK(regions.epoch() == 0);
  regions.forget();
  CHECK(regions.epoch() == 1);
}

}  // namespace acp::transport
