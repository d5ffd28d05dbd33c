// Tests of ControlFrames: two ends tell each other of their memory over frames
// that a test carries.
#include "transport/registrations/control_frames.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <catch2/catch.hpp>

#include "transport/fake_device.h"

namespace acp::transport {

namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kSize = 4096;

std::optional<int> unpack_rkey(std::span<const std::byte> rkey) {
  return static_cast<int>(rkey[0]);
}

/// One end of an endpoint. It owns region 3, whose state is 1.
struct End final : ControlSender {
  End() {
    regions.add({.key = 3, .state = 1, .address = memory_at(0), .size = kSize});
  }

  Status append_control(std::span<const std::byte> frame) override {
    if (sent.size() == room) {
      return Status::kAgain;
    }
    sent.emplace_back(frame.begin(), frame.end());
    if (loses_peer) {
      answers = false;
      frames.drop_peer();
    }
    return Status::kOk;
  }

  void queue_for_flush() override { ++flushes; }

  bool may_answer() const noexcept override { return answers; }

  FrameOutcome take(std::span<const std::byte> frame) {
    return frames.on_frame(frame, device, false, unpack_rkey);
  }

  FrameOutcome take(const Control& frame) {
    return take(encode_control(frame));
  }

  /// Looks for the registration of a byte of region 3 of the other end.
  Feasible find(std::uint64_t offset = 8) {
    RemoteStep step;
    step.key = 3;
    step.state = 1;
    step.state_mask = 0xff;
    return frames.find_registration(step, offset, theirs);
  }

  std::size_t room = 100;
  bool answers = true;
  bool loses_peer = false;
  int flushes = 0;
  std::vector<Bytes> sent;
  FakeRegions regions{1};
  FakeDevice device;
  ControlCounts counts;
  PeerRegistration<int>* theirs = nullptr;
  ControlFrames<FakeMemoryHandle, int> frames{*this, regions, counts};
};

/// Sends what one end has queued, and gives it to the other end.
void carry(End& from, End& to) {
  CHECK(from.frames.send());
  for (const Bytes& frame : from.sent) {
    CHECK(to.take(frame) == FrameOutcome::kTaken);
  }
  from.sent.clear();
}

}  // namespace

TEST_CASE("control frames: two ends ask, tell, revoke and confirm",
          "[registrations][frames]") {
  End user;
  End owner;
  CHECK(user.find() == Feasible::kLater);
  CHECK(user.flushes == 1);
  carry(user, owner);
  carry(owner, user);
  CHECK(user.find() == Feasible::kNow);
  CHECK(user.theirs->rkey == 7);
  CHECK(user.counts.wanted == 1);
  CHECK(owner.counts.told == 1);

  CHECK_FALSE(owner.regions.remove(3, 1));
  CHECK(owner.counts.revoked == 1);
  carry(owner, user);
  carry(user, owner);
  CHECK(owner.regions.remove(3, 1));
}

TEST_CASE(
    "control frames: a registration in use is confirmed after its last use",
    "[registrations][frames]") {
  End user;
  End owner;
  owner.frames.announce({.key = 3, .offset = 0, .size = 8}, owner.device,
                        false);
  CHECK(owner.sent.size() == 1);  // sent at once
  carry(owner, user);
  REQUIRE(user.find() == Feasible::kNow);
  user.theirs->uses = 2;
  CHECK_FALSE(owner.regions.remove(3, 1));
  carry(owner, user);
  user.frames.end_use(*user.theirs);
  CHECK(user.frames.send());
  CHECK(user.sent.empty());
  user.frames.end_use(*user.theirs);
  carry(user, owner);
  CHECK(owner.regions.remove(3, 1));
}

TEST_CASE("control frames: frames wait for room, and keep their order",
          "[registrations][frames]") {
  End end;
  for (const std::uint32_t key : {1U, 2U, 3U}) {
    end.frames.revoke({.key = key, .state = 1});
  }
  end.room = 2;
  CHECK_FALSE(end.frames.send());
  CHECK_FALSE(end.frames.send());
  end.room = 3;
  CHECK(end.frames.send());
  REQUIRE(end.sent.size() == 3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    CHECK(decode_control(end.sent[i])->key == i + 1);
  }
}

TEST_CASE("control frames: the peer is lost while frames are sent",
          "[registrations][frames]") {
  End end;
  CHECK(end.take({.kind = ControlKind::kWant, .key = 3}) ==
        FrameOutcome::kTaken);
  end.frames.revoke({.key = 4, .state = 1});
  end.loses_peer = true;
  CHECK(end.frames.send());
  CHECK(end.sent.size() == 1);
  CHECK(end.regions.remove(3, 1));  // the peer is no holder any more
}

TEST_CASE("control frames: a peer that gets no answer becomes no holder",
          "[registrations][frames]") {
  End end;
  end.answers = false;
  CHECK(end.take({.kind = ControlKind::kWant, .key = 3}) ==
        FrameOutcome::kUnanswered);
  CHECK(end.take({.kind = ControlKind::kRevoke, .key = 3, .state = 1}) ==
        FrameOutcome::kUnanswered);
  CHECK(end.take({.kind = ControlKind::kRevoked, .key = 3, .state = 1}) ==
        FrameOutcome::kTaken);
  CHECK(end.frames.send());
  CHECK(end.sent.empty());
  CHECK(end.regions.remove(3, 1));
}

TEST_CASE("control frames: a frame from before a reset changes nothing",
          "[registrations][frames]") {
  End end;
  CHECK(end.take({.kind = ControlKind::kWant, .key = 3, .epoch = 1}) ==
        FrameOutcome::kTaken);
  CHECK(end.frames.send());
  CHECK(end.sent.empty());
  end.regions.forget();
  end.frames.clear();
  CHECK(end.take({.kind = ControlKind::kWant, .key = 3, .epoch = 1}) ==
        FrameOutcome::kTaken);
  CHECK(end.frames.send());
  REQUIRE(end.sent.size() == 1);
  CHECK(decode_control(end.sent[0])->epoch == 1);
  CHECK(end.take(Bytes(3)) == FrameOutcome::kDamaged);
}

}  // namespace acp::transport
