#include "gma/describe.h"

#include <string>

#include <catch2/catch.hpp>

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
  operation.current = 99;  // behind its end
  contains(describe(operation, space), "step 3 of 3");
}

}  // namespace acp::gma
