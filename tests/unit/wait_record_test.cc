// Tests the record of a thread's wait, which the launcher reads.
#include "runtime/wait_record.h"

#include <thread>

#include <catch2/catch.hpp>

#include "gma/call_name.h"
#include "support/host_memory.h"

namespace acp::runtime {

namespace {

using protocol::WaitKind;

/// The fields of a record, read once.
struct Shown {
  explicit Shown(const protocol::ProcRecord& record)
      : kind(static_cast<WaitKind>(record.wait_kind.load())),
        peer(record.wait_peer),
        name(record.wait_name.get()) {}

  WaitKind kind;
  std::uint32_t peer;
  std::string name;
};

}  // namespace

TEST_CASE("wait record: shows a wait while it lasts", "[runtime][wait]") {
  const test::HostMemory host(1);
  const protocol::ProcRecord& record = host.segment().record(0);
  WaitRecord waits(host.segment().record(0));
  {
    const gma::CallScope call("QMP_wait");
    waits.enter(WaitKind::kSync, 7);
  }
  const std::uint64_t begun = record.waits;
  CHECK(Shown(record).kind == WaitKind::kSync);
  CHECK(Shown(record).peer == 7);
  CHECK(Shown(record).name == "QMP_wait");
  CHECK(record.wait_thread != 0);
  waits.leave();
  CHECK(Shown(record).kind == WaitKind::kNothing);
  CHECK(record.waits == begun + 1);
}

TEST_CASE("wait record: the end of one thread's wait leaves the other's",
          "[runtime][wait]") {
  const test::HostMemory host(1);
  const protocol::ProcRecord& record = host.segment().record(0);
  WaitRecord waits(host.segment().record(0));
  waits.enter(WaitKind::kSync, 3);
  const std::uint32_t mine = record.wait_thread;
  std::thread([&] {
    waits.enter(WaitKind::kComplete, protocol::kNoSlot);
    CHECK(Shown(record).kind == WaitKind::kComplete);
    CHECK(record.wait_thread != mine);
    waits.leave();
  }).join();
  CHECK(Shown(record).kind == WaitKind::kSync);
  CHECK(Shown(record).peer == 3);
  CHECK(record.wait_thread == mine);
  // The older wait may end first, too.
  std::thread other([&] { waits.enter(WaitKind::kWord, 5); });
  other.join();
  waits.leave();
  CHECK(Shown(record).kind == WaitKind::kWord);
  CHECK(Shown(record).peer == 5);
}

TEST_CASE("wait record: waits of one thread end in reverse order",
          "[runtime][wait]") {
  const test::HostMemory host(1);
  const protocol::ProcRecord& record = host.segment().record(0);
  WaitRecord waits(host.segment().record(0));
  waits.enter(WaitKind::kCondition, 1);
  waits.enter(WaitKind::kComplete, 2);
  CHECK(Shown(record).peer == 2);
  waits.leave();
  CHECK(Shown(record).kind == WaitKind::kCondition);
  CHECK(Shown(record).peer == 1);
  waits.leave();
  CHECK(Shown(record).kind == WaitKind::kNothing);
}

}  // namespace acp::runtime
