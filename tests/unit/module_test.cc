// Tests of modules: where they are looked for, and the error about a file that
// cannot be used. Such a file is none, is of another version or build, or
// cannot be loaded.
#include "settings/module.h"

#include <string>

#include <catch2/catch.hpp>

#include "support/stderr_capture.h"

namespace acp {

namespace {

LoadedModule load(std::string_view name) {
  return load_module(name, ACP_TEST_MODULES);
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("module: its function is called, and its lines are ours",
          "[base][module]") {
  spmd::StderrCapture capture;
  set_log_prefix("tester");
  const LoadedModule module = load("test-good");
  REQUIRE(module.table != nullptr);
  CHECK(module.why.empty());
  CHECK(module.path == ACP_TEST_MODULES "/libacp-test-good.so");
  CHECK(module.entry_point<int(int)>()(21) == 42);
  CHECK(load("test-good").table == module.table);
  set_log_prefix("");
  CHECK(capture.stop() == "acp: tester: warning: number 21\n");
}

TEST_CASE("module: lines below the level are not made", "[base][module]") {
  spmd::StderrCapture capture;
  set_log_level(LogLevel::kError);
  const LoadedModule module = load("test-good");
  set_log_level(LogLevel::kWarning);
  REQUIRE(module.table != nullptr);
  CHECK(module.entry_point<int(int)>()(4) == 8);
  CHECK(capture.stop().empty());
}

TEST_CASE("module: one that is not there", "[base][module]") {
  const LoadedModule module = load_module("test-none", "/nonexistent:/tmp");
  CHECK(module.table == nullptr);
  for (const char* part :
       {"libacp-test-none.so was not found", "/nonexistent", "/tmp",
        "package acp-test-none", "ACP_MODULE_PATH"}) {
    INFO(module.why);
    CHECK(contains(module.why, part));
  }
}

TEST_CASE("module: folders that are not there are warned of",
          "[base][module]") {
  spmd::StderrCapture capture;
  warn_of_missing_folders("/tmp:/nonexistent::/nope/at/all");
  CHECK(capture.stop() ==
        "acp: warning: ACP_MODULE_PATH: /nonexistent is no folder here\n"
        "acp: warning: ACP_MODULE_PATH: /nope/at/all is no folder here\n");
}

// Each file was built for this test with one fault, and the text has to name
// the fault and its remedy.
TEST_CASE("module: a file that cannot be used says why", "[base][module]") {
  struct Row {
    const char* name;
    const char* why;
    const char* remedy;
  };

  for (const Row& row :
       {Row{"test-old", "0.0.7 (modules 0)", "package acp-test-old"},
        Row{"test-stale", "(interface 0000000000000000)", "build the module"},
        Row{"test-other", "is no module of ACP", "acp_module"},
        Row{"test-broken", "function_of_a_missing_library", "install"}}) {
    const LoadedModule module = load(row.name);
    INFO(module.why);
    CHECK(module.table == nullptr);
    CHECK(contains(module.why, row.why));
    CHECK(contains(module.why, row.remedy));
    CHECK(contains(module.path, row.name));
  }
}

TEST_CASE("module: a refusal names the interface of both sides",
          "[base][module]") {
  const std::string mine = module_stamp();
  const std::string version = mine.substr(0, mine.find(' '));
  CHECK(contains(mine, " (interface "));
  const LoadedModule module = load("test-stale");
  INFO(module.why);
  CHECK(contains(module.why, "is of ACP " + version + " (interface 0000"));
  CHECK(contains(module.why, "this is ACP " + mine + ":"));
}

}  // namespace acp
