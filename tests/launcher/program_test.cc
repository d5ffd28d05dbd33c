// Tests how acprun finds a program.
#include "launcher/program.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>

namespace acp::launcher {

namespace {

namespace fs = std::filesystem;

/// A folder with "run" (executable), "data" (not) and "bin/tool".
struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "program-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
    fs::create_directory(path / "bin");
    for (const char* file : {"run", "data", "bin/tool"}) {
      std::ofstream(path / file) << "#!/bin/sh\n";
      fs::permissions(path / file, std::string(file) == "data"
                                       ? fs::perms::owner_read
                                       : fs::perms::owner_all);
    }
  }

  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  ~Folder() { fs::remove_all(path); }

  fs::path path;
};

int status(const OrExit<std::string>& result) {
  const auto* exit = std::get_if<EarlyExit>(&result);
  return exit == nullptr ? 0 : exit->status;
}

/// The end of the message: what comes behind the system's own words.
std::string advice(const OrExit<std::string>& result) {
  const std::string& text = std::get<EarlyExit>(result).text;
  const std::size_t at = text.find("; ");
  return at == std::string::npos ? "" : text.substr(at + 2);
}

}  // namespace

TEST_CASE("program: paths are seen from the working directory",
          "[launcher][program]") {
  const Folder folder;
  const std::string at = folder.path.string();
  CHECK(std::get<std::string>(find_program("./run", at, "")) == "./run");
  CHECK(std::get<std::string>(find_program(at + "/run", "/", "")) ==
        at + "/run");
  CHECK(status(find_program("./gone", at, "")) == 127);
  CHECK(advice(find_program("./gone", at, "")) == "looked for from " + at);
  CHECK(advice(find_program("gone", at, "/bin")) ==
        "it is neither in PATH nor in " + at);
  CHECK(advice(find_program(at + "/gone", at, "/bin")).empty());
  CHECK(status(find_program("run/below", at, "")) == 127);
  CHECK(status(find_program("./data", at, "")) == 126);
  CHECK(status(find_program("./bin", at, "")) == 126);
}

TEST_CASE("program: names are looked for in PATH, then here",
          "[launcher][program]") {
  const Folder folder;
  const std::string at = folder.path.string();
  const std::string path = "/nonexistent:" + at + "/bin";
  CHECK(std::get<std::string>(find_program("tool", at, path)) ==
        at + "/bin/tool");
  CHECK(std::get<std::string>(find_program("run", at, path)) == "./run");
  CHECK(status(find_program("gone", at, path)) == 127);
  CHECK(status(find_program("data", at, path)) == 126);
  CHECK(status(find_program("", at, path)) == 127);
}

}  // namespace acp::launcher
