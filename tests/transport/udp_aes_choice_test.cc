// Which library makes the tags: with the module, without it, with one of
// another build, and by ACP_UDP_TAGS.
#include <unistd.h>

#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "support/stderr_capture.h"
#include "udp/aes_choice.h"
#include "udp/sodium_aes_gcm.h"

namespace acp::udp {

namespace {

namespace fs = std::filesystem;

/// A folder with a file of the module's name, which goes with this object.
class Folder {
 public:
  explicit Folder(const fs::path& module) {
    fs::create_directory(path_);
    fs::copy_file(module, path_ / "libacp-ipsec-mb.so");
  }

  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  ~Folder() { fs::remove_all(path_); }

  std::string text() const { return path_; }

 private:
  fs::path path_ =
      fs::temp_directory_path() / ("aes_choice." + std::to_string(::getpid()));
};

struct Choice {
  Result<const transport::AesGcm*> aes;
  std::string log;
};

Choice choose(const char* setting,
              const std::string& folders,
              Warnings warnings = Warnings::kOn) {
  spmd::StderrCapture capture;
  auto aes = choose_aes_gcm(setting, folders, warnings);
  return {aes, capture.stop()};
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("udp tags: libsodium makes them where the module is not installed",
          "[udp][tags]") {
  const Choice choice = choose("auto", "/nonexistent");
  REQUIRE(choice.aes.ok());
  CHECK(*choice.aes == sodium_aes_gcm());
  CHECK(choice.log.empty());
}

TEST_CASE("udp tags: a setting that cannot be had is an error with the remedy",
          "[udp][tags]") {
  const Choice choice = choose("ipsec-mb", "/nonexistent");
  CHECK(choice.aes.status() == Status::kUnsupported);
  for (const char* part :
       {"ACP_UDP_TAGS=ipsec-mb: libacp-ipsec-mb.so was not "
        "found",
        "install the package acp-ipsec-mb", "leave the setting out"}) {
    INFO(choice.log);
    CHECK(contains(choice.log, part));
  }
}

TEST_CASE("udp tags: a module of another build is told of, and not used",
          "[udp][tags]") {
  const Folder folder(ACP_TEST_STALE_MODULE);
  const Choice choice = choose("auto", folder.text());
  REQUIRE(choice.aes.ok());
  CHECK(*choice.aes == sodium_aes_gcm());
  INFO(choice.log);
  CHECK(contains(choice.log, "(interface 0000000000000000)"));
  CHECK(contains(choice.log, "libsodium makes the tags"));
  CHECK(choose("auto", folder.text(), Warnings::kOff).log.empty());
  CHECK(choose("ipsec-mb", folder.text()).aes.status() == Status::kUnsupported);
}

#ifdef ACP_TEST_IPSEC_MB_MODULE
TEST_CASE("udp tags: intel-ipsec-mb makes them where the module is",
          "[udp][tags]") {
  const std::string folder = fs::path(ACP_TEST_IPSEC_MB_MODULE).parent_path();
  if (sodium_aes_gcm() == nullptr) {
    CHECK(choose("ipsec-mb", folder).aes.status() == Status::kUnsupported);
    return;
  }
  for (const char* setting : {"auto", "ipsec-mb"}) {
    const Choice choice = choose(setting, folder);
    REQUIRE(choice.aes.ok());
    CHECK(contains(std::string((*choice.aes)->library()), "intel-ipsec-mb"));
    CHECK(choice.log.empty());
  }
}

TEST_CASE("udp tags: libsodium makes them where the setting says so",
          "[udp][tags]") {
  const std::string folder = fs::path(ACP_TEST_IPSEC_MB_MODULE).parent_path();
  const Choice choice = choose("libsodium", folder);
  REQUIRE(choice.aes.ok());
  CHECK(*choice.aes == sodium_aes_gcm());
}
#endif

}  // namespace acp::udp
