// Texts of addresses and operations, for log lines.
#include "gma/describe.h"

#include <fmt/core.h>

#include <array>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "gmm/key_table.h"
#include "support/host_memory.h"

namespace acp::gma {

namespace {

bool contains(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("describe: an address in its parts", "[gma][describe]") {
  const test::HostMemory host(4);
  const gmm::AddressSpace space(host.segment(), 0, 0, 1, gmm::Reach::kHost);
  const GlobalAddress address = space.codec().encode(3, 1, 5, 2, 0x40);
  const std::string text = describe_address(address, space);
  contains(text, "rank 3");
  contains(text, "color 1");
  contains(text, "key 5");
  contains(text, "0x40");
  CHECK(describe_address(0, space) == "ACP_GA_NULL");
}

TEST_CASE("describe: every operation names what, how much and where",
          "[gma][describe]") {
  const test::HostMemory host(4);
  const gmm::AddressSpace space(host.segment(), 0, 0, 1, gmm::Reach::kHost);
  Step step;
  step.remote = space.codec().encode(3, 0, 5, 0, 0);
  step.local = space.codec().encode(1, 0, 6, 0, 0);
  step.size = 4321;
  for (int opcode = 0; opcode <= 12; ++opcode) {
    step.opcode = static_cast<protocol::Opcode>(opcode);
    const std::string text = describe(step, space);
    contains(text, "rank 3");
    contains(text, "rank 1");
  }
  step.opcode = protocol::Opcode::kCopy;
  contains(describe(step, space), "4321");
  step.opcode = protocol::Opcode::kCas;
  step.width = 4;
  contains(describe(step, space), "cas4");

  Operation operation;
  contains(describe(operation, space), "without steps");
  operation.owner = Owner::kQueue;
  operation.sequence = 77;
  operation.steps = {step, step, step};
  operation.current = 1;
  contains(describe(operation, space), "step 2 of 3");
  contains(describe(operation, space), "handle 77");
  operation.current = 99;  // behind the last step
  contains(describe(operation, space), "step 3 of 3");
  operation.keep_call("acp_push_back_vector");
  CHECK(describe(operation, space).find("acp_push_back_vector: cas4 at ") == 0);
  const std::string much(99, 'x');
  operation.keep_call(much.c_str());
  CHECK(describe(operation, space).find(much.substr(0, 47) + ": cas4 at ") ==
        0);
  operation.owner = Owner::kInternal;
  CHECK(describe(operation, space) == "a message of acp_sync to rank 3");
}

// Both ends are outside, so the text has to name both. With another status
// there is nothing to say.
TEST_CASE("describe: an address outside of its region names region and size",
          "[gma][describe]") {
  const test::HostMemory host(4);
  const gmm::AddressSpace space(host.segment(), 0, 0, 1, gmm::Reach::kHost);
  gmm::KeyTable keys(host.segment(), 0);
  std::array<std::byte, 640> bytes{};
  const auto atkey = keys.add(0, 0, bytes.data(), bytes.size());
  REQUIRE(atkey.ok());
  Step step;
  step.opcode = protocol::Opcode::kCopy;
  step.size = 8;
  step.remote = space.codec().encode(0, 0, gmm::kStarterKey, 0, 1 << 20);
  step.local = atkey.value() + 1000;
  const std::uint64_t below =
      reinterpret_cast<std::uintptr_t>(bytes.data()) % 64;
  step.local = atkey.value() + below + 636;
  contains(describe_bounds(step, Status::kBadAddress, space),
           " is byte 636, and the 8 bytes from there leave the registered "
           "region");
  contains(describe_bounds(step, Status::kBadAddress, space),
           "which has 640 bytes, 4 of them from there");
  step.local = atkey.value() + 1000;
  const std::string text = describe_bounds(step, Status::kBadAddress, space);
  contains(text, "leave starter memory of rank 0, which has " +
                     std::to_string(host.segment().header().starter_bytes) +
                     " bytes");
  contains(text,
           fmt::format("leave the registered region with atkey {:#018x} of "
                       "rank 0, which has 640 bytes",
                       atkey.value()));
  step.remote = space.codec().encode(0, 0, gmm::kModuleKey, 0, 1ULL << 38);
  contains(describe_bounds(step, Status::kBadAddress, space),
           "leave the heap and the modules' memory of rank 0");
  CHECK(describe_bounds(step, Status::kBadKey, space).empty());
}

TEST_CASE("describe: the end whose key is dead, as far as it can be seen",
          "[gma][describe]") {
  const test::HostMemory host(4);
  const gmm::AddressSpace space(host.segment(), 0, 0, 1, gmm::Reach::kHost);
  const gmm::AddressSpace apart(host.segment(), 0, 0, 1, gmm::Reach::kSelf);
  gmm::KeyTable keys(host.segment(), 0);
  alignas(64) std::array<std::byte, 64> bytes{};
  const auto live = keys.add(0, 0, bytes.data(), bytes.size());
  REQUIRE(live.ok());
  Step step;
  step.opcode = protocol::Opcode::kCopy;
  step.size = 8;
  step.remote = live.value();
  step.local = space.codec().encode(1, 0, 5, 0, 0);
  const std::string of_local = fmt::format(
      "; {:#018x} on rank 1 was unregistered, or was never "
      "registered; call acp_sync between the last access and "
      "acp_unregister_memory",
      step.local);
  CHECK(describe_cause(step, Status::kBadKey, space).find(of_local) == 0);
  // The other end is live, so that on the other host is dead.
  CHECK(describe_cause(step, Status::kBadKey, apart).find(of_local) == 0);
  step.remote = space.codec().encode(2, 0, 5, 0, 0);
  contains(describe_cause(step, Status::kBadKey, apart),
           fmt::format("; {:#018x} on rank 2 or {:#018x} on rank 1 was "
                       "unregistered",
                       step.remote, step.local));
  // The copy knows at which end it has failed.
  CHECK(describe_cause(step, Status::kBadKey, apart, CopyEnd::kSource)
            .find(of_local) == 0);
  CHECK(describe_cause(step, Status::kBadKey, apart, CopyEnd::kDestination)
            .find(fmt::format("; {:#018x} on rank 2 was unregistered",
                              step.remote)) == 0);
  REQUIRE(keys.remove(0, live.value()) == Status::kOk);
  step.remote = live.value();
  contains(describe_cause(step, Status::kBadKey, apart),
           fmt::format("; {:#018x} on rank 0 was unregistered", step.remote));
  contains(keys.describe_region(0, live.value()),
           "; acp_unregister_memory or acp_reset has ended this region");
}

TEST_CASE("describe: the dead rank of a copy", "[gma][describe]") {
  const test::HostMemory host(4);
  const gmm::AddressSpace space(host.segment(), 0, 0, 1, gmm::Reach::kHost);
  Step step;
  step.opcode = protocol::Opcode::kCopy;
  step.size = 8;
  step.remote = space.codec().encode(2, 0, 5, 0, 0);
  step.local = space.codec().encode(1, 0, 5, 0, 0);
  const auto text_of = [&](CopyEnd end) {
    return describe_cause(step, Status::kPeerDead, space, end);
  };
  CHECK(text_of(CopyEnd::kSource) == "; the dead one is rank 1");
  CHECK(text_of(CopyEnd::kDestination) == "; the dead one is rank 2");
  CHECK(text_of(CopyEnd::kUnknown) == "; the dead one is rank 2 or rank 1");
  step.local = space.codec().encode(0, 0, gmm::kStarterKey, 0, 0);
  CHECK(text_of(CopyEnd::kUnknown) == "; the dead one is rank 2");
}

TEST_CASE("describe: an end that is ACP_GA_NULL", "[gma][describe]") {
  const test::HostMemory host(4);
  const gmm::AddressSpace space(host.segment(), 0, 0, 1, gmm::Reach::kHost);
  const std::string null = "ACP_GA_NULL was not queried, or not received yet";
  Step step;
  step.opcode = protocol::Opcode::kCopy;
  step.size = 8;
  step.local = space.codec().encode(0, 0, gmm::kStarterKey, 0, 0);
  contains(describe_cause(step, Status::kBadAddress, space), null);
  std::swap(step.remote, step.local);
  contains(describe_cause(step, Status::kBadAddress, space), null);
  // The result of an atomic is not wanted.
  step.opcode = protocol::Opcode::kAdd;
  CHECK(describe_cause(step, Status::kBadAddress, space).find(null) ==
        std::string::npos);
}

// The addresses are good, so only memory that went away can be the cause. Of
// another host it can only be supposed.
TEST_CASE("describe: memory that was freed while it is registered",
          "[gma][describe]") {
  const test::HostMemory host(4);
  const gmm::AddressSpace space(host.segment(), 0, 0, 1, gmm::Reach::kHost);
  const gmm::AddressSpace apart(host.segment(), 0, 0, 1, gmm::Reach::kSelf);
  Step step;
  step.opcode = protocol::Opcode::kCopy;
  step.size = 8;
  gmm::KeyTable keys(host.segment(), 0);
  alignas(64) std::array<std::byte, 64> bytes{};
  const auto atkey = keys.add(0, 0, bytes.data(), bytes.size());
  REQUIRE(atkey.ok());
  step.remote = atkey.value();
  step.local = atkey.value() + 32;
  contains(describe_cause(step, Status::kBadAddress, space),
           "was memory freed, or made read-only, before acp_unregister_memory");
  step.remote = space.codec().encode(1, 0, 5, 0, 0);
  contains(describe_cause(step, Status::kBadAddress, apart),
           "or memory there was freed before acp_unregister_memory: compare");
}

// The step is changed from one wrong end to the next, and the text has to
// follow it.
TEST_CASE("describe: a wrong rank and a wrong alignment", "[gma][describe]") {
  const test::HostMemory host(4);
  const gmm::AddressSpace space(host.segment(), 0, 0, 1, gmm::Reach::kHost);
  Step step;
  step.opcode = protocol::Opcode::kAdd;
  step.width = 4;
  step.remote = space.codec().encode(1, 0, gmm::kStarterKey, 0, 4);
  step.local = space.codec().encode(2, 0, gmm::kStarterKey, 0, 6);
  contains(describe_cause(step, Status::kBadRank, space),
           fmt::format("; {:#x} is on rank 2, and dst, the result, has to be "
                       "on the caller's rank 0",
                       step.local));
  CHECK(describe_cause(step, Status::kMisaligned, space) ==
        fmt::format("; {:#x} has to be a multiple of 4", step.local));
  step.opcode = protocol::Opcode::kCopy;
  contains(describe_cause(step, Status::kBadRank, space), "ranks are 0 to 3");
  step.remote = 64;
  contains(describe_cause(step, Status::kBadRank, space),
           "; 0x40 is ACP_GA_NULL + 64");
  step.remote = 0x7fff'0000'1000;
  contains(describe_cause(step, Status::kBadRank, space),
           "a pointer's global address is acp_query_ga's");
}

}  // namespace acp::gma
