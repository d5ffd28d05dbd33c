// Tests the parser of machine definitions (COMMS_DEF) and of seed files.
#include "compat/scu/definition.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>

namespace {

/// A file with this text, for the life of the object.
class File {
 public:
  explicit File(const std::string& text) {
    const int fd = ::mkstemp(name_.data());
    REQUIRE(fd >= 0);
    ::close(fd);
    std::ofstream(name_) << text;
  }

  File(const File&) = delete;
  File& operator=(const File&) = delete;

  ~File() { (void)std::remove(name_.c_str()); }

  const std::string& name() const { return name_; }

 private:
  std::string name_ = "/tmp/compat_XXXXXX";
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("COMMS_DEF: the text's two examples", "[scu]") {
  for (const char* text : {"{ GRID = 64,32,32,32 }\n{ LOGFILE = comms.log }\n"
                           "{ SEED = 128366328 }{ SEEDFILE = rngseeds.dat }\n",
                           "{LOGFILE=comms.log}{SEED=128366328}\n"
                           "    {GRID=64,32,32,32}{SEEDFILE=rngseeds.dat}"}) {
    const scu::Parsed parsed = scu::parse(text);
    CHECK(parsed.failure.empty());
    CHECK(parsed.definition.grid == std::array{64, 32, 32, 32});
    CHECK(parsed.definition.log_file == "comms.log");
    CHECK(parsed.definition.seed == 128366328);
    CHECK(parsed.definition.seed_file == "rngseeds.dat");
  }
}

TEST_CASE("COMMS_DEF: defaults, and what is ignored", "[scu]") {
  const scu::Parsed parsed = scu::parse(
      "# GRID = 9,9,9,9\n{GRID 2 3 4 5} {COLOUR=red} SEED=7 {} {grid=1}");
  CHECK(parsed.failure.empty());
  CHECK(parsed.definition.grid == std::array{2, 3, 4, 5});
  CHECK(parsed.definition.log_file.empty());
  CHECK(parsed.definition.seed == 1);
  CHECK(parsed.definition.seed_file == "rng.dat");
}

TEST_CASE("COMMS_DEF: what is wrong is told", "[scu]") {
  CHECK(has(scu::parse("").failure, "there is no {GRID=t,x,y,z}"));
  CHECK(has(scu::parse("{SEED=1}").failure, "there is no {GRID=t,x,y,z}"));
  CHECK(has(scu::parse("{GRID=1,2,3}").failure, "there are 3"));
  CHECK(has(scu::parse("{GRID=1,2,3,x}").failure, "'x' is none"));
  CHECK(has(scu::parse("{GRID=1,2,3,0}").failure, "'0' is none"));
  CHECK(has(scu::parse("{GRID=1,2,3,-4}").failure, "'-4' is none"));
  CHECK(has(scu::parse("{GRID=1,1,1,1}{SEED=x}").failure, "{SEED=x}"));
  CHECK(has(scu::parse("{GRID=1,1,1,1}{SEED=4294967296}").failure, "SEED"));
  CHECK(has(scu::parse("{GRID=1,1,1,1}{LOGFILE}").failure, "one value"));
  CHECK(has(scu::parse("{GRID=1,1,1,1").failure, "has no '}'"));
}

TEST_CASE("COMMS_DEF: a text, a file's name, or neither", "[scu]") {
  const File file("{GRID=1,2,1,1}");
  REQUIRE(::setenv("COMMS_DEF", (" " + file.name() + "\n").c_str(), 1) == 0);
  CHECK(scu::find_definition().definition.grid == std::array{1, 2, 1, 1});
  REQUIRE(::setenv("COMMS_DEF", "{GRID=3,1,1,1}", 1) == 0);
  CHECK(scu::find_definition().definition.grid == std::array{3, 1, 1, 1});
  REQUIRE(::setenv("COMMS_DEF", "/no/such/file", 1) == 0);
  CHECK(has(scu::find_definition().failure, "cannot read '/no/such/file'"));
  REQUIRE(::unsetenv("COMMS_DEF") == 0);
  CHECK(has(scu::find_definition().failure, "commsMPI.def"));
}

TEST_CASE("SEEDFILE: the number at a node's place", "[scu]") {
  const File file("11 22,33\n4294967295\nx");
  CHECK(scu::seed_from(file.name(), 0).value == 11);
  CHECK(scu::seed_from(file.name(), 2).value == 33);
  CHECK(scu::seed_from(file.name(), 3).value == 4294967295);
  CHECK(has(scu::seed_from(file.name(), 4).failure, "'x', number 5"));
  CHECK(has(scu::seed_from(file.name(), 5).failure, "has 5 numbers"));
  CHECK(has(scu::seed_from("/no/file", 0).failure, "cannot read '/no/file'"));
}
