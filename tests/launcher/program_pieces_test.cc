// The pieces of the program that --preload copies.
#include "launcher/program_pieces.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/stderr_capture.h"

namespace acp::launcher {

namespace {

namespace fs = std::filesystem;

/// A folder with a program of 2.5 MiB, and a plan that names it.
struct ProgramFolder {
  ProgramFolder() {
    std::string name = (fs::temp_directory_path() / "pieces-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
    for (std::size_t i = 0; i < std::size_t{5} << 19; ++i) {
      bytes += static_cast<char>(i * 7 + i / 256);
    }
    std::ofstream(path / "run", std::ios::binary) << bytes;
    fs::permissions(path / "run", fs::perms::owner_all);
    plan.options.command = {"run"};
    plan.options.directory = path;
    plan.orders.directory = path;
  }

  ProgramFolder(const ProgramFolder&) = delete;
  ProgramFolder& operator=(const ProgramFolder&) = delete;

  ~ProgramFolder() { fs::remove_all(path); }

  /// Sends the program, and returns the pieces.
  std::vector<std::string> send() {
    std::vector<std::string> pieces;
    CHECK(send_program(plan, [&](std::string piece) {
            pieces.push_back(std::move(piece));
          }) == Status::kOk);
    return pieces;
  }

  fs::path path;
  std::string bytes;
  JobPlan plan;
};

std::string join(const std::vector<std::string>& pieces) {
  std::string all;
  for (const std::string& piece : pieces) {
    all += piece;
  }
  return all;
}

}  // namespace

TEST_CASE("program pieces: the whole file goes out in pieces of 1 MiB",
          "[launcher]") {
  ProgramFolder folder;
  const auto pieces = folder.send();
  REQUIRE(pieces.size() == 3);
  CHECK(pieces[0].size() == std::size_t{1} << 20);
  CHECK(pieces[2].size() == std::size_t{1} << 19);
  CHECK((join(pieces) == folder.bytes));
}

TEST_CASE("program pieces: the job's PATH finds the program", "[launcher]") {
  ProgramFolder folder;
  folder.plan.options.directory = "";
  folder.plan.orders.directory = "/";
  folder.plan.orders.environment = {"HOME=/", "PATH=" + folder.path.string()};
  CHECK((join(folder.send()) == folder.bytes));
}

TEST_CASE("program pieces: a relative path counts from the job's directory",
          "[launcher]") {
  ProgramFolder folder;
  folder.plan.options.command = {"./run"};
  CHECK((join(folder.send()) == folder.bytes));
}

TEST_CASE("program pieces: a program that is not there is an error",
          "[launcher]") {
  ProgramFolder folder;
  folder.plan.options.command = {"missing"};
  spmd::StderrCapture captured;
  int pieces = 0;
  CHECK(send_program(folder.plan, [&](const std::string&) { ++pieces; }) ==
        Status::kSystem);
  CHECK(captured.stop().find("--preload: missing cannot be read") !=
        std::string::npos);
  CHECK(pieces == 0);
}

}  // namespace acp::launcher
