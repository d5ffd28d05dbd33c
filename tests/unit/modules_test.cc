// Modules: the layers above the basic layer, their memory, init and finalize.
#include "runtime/modules.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace acp::runtime {

namespace {

/// Calls in order: "+a" for the init of module a, "-a" for its fini.
std::vector<std::string>& calls() {
  static std::vector<std::string> all;
  return all;
}

struct Layer {
  const char* name = "";
  int init_result = 0;
  int fini_result = 0;

  static int init(void* argument) {
    const auto& self = *static_cast<Layer*>(argument);
    calls().push_back(std::string("+") + self.name);
    return self.init_result;
  }

  static int fini(void* argument) {
    const auto& self = *static_cast<Layer*>(argument);
    calls().push_back(std::string("-") + self.name);
    return self.fini_result;
  }

  acpx_module_t module(std::size_t bytes = 0) {
    acpx_module_t made{};
    made.name = name;
    made.bytes = bytes;
    made.init = &init;
    made.fini = &fini;
    made.arg = this;
    return made;
  }
};

using Calls = std::vector<std::string>;

}  // namespace

TEST_CASE("modules: init in order, fini in reverse", "[runtime][modules]") {
  calls().clear();
  Layer a{"a"};
  Layer b{"b"};
  Layer c{"c"};
  Modules modules;
  CHECK(modules.add(a.module()).value() == 0);
  CHECK(modules.add(b.module()).value() == 1);
  CHECK(modules.add(c.module()).value() == 2);
  CHECK(calls().empty());
  CHECK(modules.init() == Status::kOk);
  CHECK(calls() == Calls{"+a", "+b", "+c"});
  calls().clear();
  modules.fini();
  CHECK(calls() == Calls{"-c", "-b", "-a"});
  calls().clear();
  // acp_reset ends and begins the modules again.
  CHECK(modules.init() == Status::kOk);
  CHECK(calls() == Calls{"+a", "+b", "+c"});
}

TEST_CASE("modules: a failing init ends those before it",
          "[runtime][modules]") {
  calls().clear();
  Layer a{"a"};
  Layer b{"b"};
  Layer c{"c"};
  c.init_result = -1;
  Layer d{"d"};
  Modules modules;
  for (Layer* layer : {&a, &b, &c, &d}) {
    REQUIRE(modules.add(layer->module()).ok());
  }
  CHECK(modules.init() == Status::kSystem);
  CHECK(calls() == Calls{"+a", "+b", "+c", "-b", "-a"});
}

TEST_CASE("modules: a failing fini does not stop the others",
          "[runtime][modules]") {
  calls().clear();
  Layer a{"a"};
  Layer b{"b"};
  b.fini_result = -1;
  Modules modules;
  REQUIRE(modules.add(a.module()).ok());
  REQUIRE(modules.add(b.module()).ok());
  REQUIRE(modules.init() == Status::kOk);
  calls().clear();
  modules.fini();
  CHECK(calls() == Calls{"-b", "-a"});
  modules.fini();  // They have ended.
  CHECK(calls() == Calls{"-b", "-a"});
}

// A program that joins a job which a layer above has begun.
TEST_CASE("modules: the program's begin later, and end earlier",
          "[runtime][modules]") {
  calls().clear();
  Layer own{"own"};
  Layer early{"early"};
  Layer late{"late"};
  Modules modules;
  REQUIRE(modules.add_own(own.module(100)).ok());
  REQUIRE(modules.add(early.module(64)).ok());
  REQUIRE(modules.lay_out(256) == Status::kOk);
  REQUIRE(modules.init() == Status::kOk);
  CHECK(modules.add(late.module(64)).value() == 1);
  CHECK(modules.lay_out(255) == Status::kNoMemory);
  CHECK(modules.lay_out(256) == Status::kOk);
  CHECK(modules.offset(Modules::kMaxModules).value() == 0);
  CHECK(modules.offset(0).value() == 128);
  CHECK(modules.offset(1).value() == 192);
  late.init_result = -1;
  CHECK(modules.init() == Status::kSystem);  // The others go on.
  late.init_result = 0;
  CHECK(modules.init() == Status::kOk);
  CHECK(calls() == Calls{"+own", "+early", "+late", "+late"});
  calls().clear();
  modules.fini_of_program();
  CHECK(calls() == Calls{"-late", "-early"});
  modules.fini();
  CHECK(calls() == Calls{"-late", "-early", "-own"});
}

TEST_CASE("modules: functions may be missing, a name may not",
          "[runtime][modules]") {
  Modules modules;
  acpx_module_t module{};
  CHECK(modules.add(module).status() == Status::kInvalidArgument);
  module.name = "plain";
  CHECK(modules.add(module).ok());
  CHECK(modules.init() == Status::kOk);
  modules.fini();
}

TEST_CASE("modules: each has its memory, on lines of its own",
          "[runtime][modules]") {
  Modules modules;
  std::string name = "gone";
  for (const std::size_t bytes : {1U, 0U, 64U, 65U, 100U}) {
    acpx_module_t module{};
    module.name = name.c_str();
    module.bytes = bytes;
    REQUIRE(modules.add(module).ok());
  }
  name.clear();  // the name was copied
  REQUIRE(modules.lay_out(64 + 0 + 64 + 128 + 128) == Status::kOk);
  const std::uint64_t expected[] = {0, 64, 64, 128, 256};
  for (int i = 0; i < 5; ++i) {
    CHECK(modules.offset(i).value() == expected[i]);
  }
  CHECK(modules.offset(5).status() == Status::kInvalidArgument);
  CHECK(modules.offset(-1).status() == Status::kInvalidArgument);
}

TEST_CASE("modules: one byte too few", "[runtime][modules]") {
  Modules modules;
  acpx_module_t module{};
  module.name = "large";
  module.bytes = 100;
  REQUIRE(modules.add(module).ok());
  CHECK(modules.lay_out(127) == Status::kNoMemory);
  CHECK(modules.lay_out(128) == Status::kOk);
}

TEST_CASE("modules: more memory than there is", "[runtime][modules]") {
  for (const std::size_t bytes :
       {std::size_t{1} << 40, SIZE_MAX, SIZE_MAX - 62, SIZE_MAX - 63}) {
    Modules modules;
    acpx_module_t module{};
    module.name = "small";
    module.bytes = 64;
    REQUIRE(modules.add(module).ok());
    module.name = "huge";
    module.bytes = bytes;
    REQUIRE(modules.add(module).ok());
    CHECK(modules.lay_out(1 << 20) == Status::kNoMemory);
  }
}

// The program's module is added first, as in a job. Memory and calls have to be
// in the other order.
TEST_CASE("modules: the library's own come first, whenever they are added",
          "[runtime][modules]") {
  calls().clear();
  Layer user{"user"};
  Layer first{"first"};
  Layer second{"second"};
  Modules modules;
  CHECK(modules.add(user.module(64)).value() == 0);
  CHECK(modules.add_own(first.module(128)).value() == Modules::kMaxModules);
  CHECK(modules.add_own(second.module(64)).value() == Modules::kMaxModules + 1);
  REQUIRE(modules.lay_out(256) == Status::kOk);
  CHECK(modules.offset(Modules::kMaxModules).value() == 0);
  CHECK(modules.offset(Modules::kMaxModules + 1).value() == 128);
  CHECK(modules.offset(0).value() == 192);
  CHECK(modules.offset(1).status() == Status::kInvalidArgument);
  CHECK(modules.offset(Modules::kMaxModules + 2).status() ==
        Status::kInvalidArgument);
  CHECK(modules.init() == Status::kOk);
  modules.fini();
  CHECK(calls() ==
        Calls{"+first", "+second", "+user", "-user", "-second", "-first"});
}

TEST_CASE("modules: there is a largest number of them", "[runtime][modules]") {
  Modules modules;
  acpx_module_t module{};
  module.name = "one of many";
  for (std::size_t i = 0; i < Modules::kMaxModules; ++i) {
    REQUIRE(modules.add(module).ok());
  }
  CHECK(modules.add(module).status() == Status::kNoMemory);
}

}  // namespace acp::runtime
