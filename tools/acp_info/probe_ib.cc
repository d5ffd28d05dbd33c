// RDMA devices as the kernel lists them: nothing is opened, so it works without
// the libraries.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <vector>

#include "probes.h"

namespace acp::info {

namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    entries.push_back(entry.path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

/// "4: ACTIVE" -> "active".
std::string state_word(const std::string& line) {
  std::string word = line.substr(std::min(line.size(), line.find(' ') + 1));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return word;
}

}  // namespace

Probe probe_ib() {
  constexpr const char* kNodes = "/dev/infiniband";
  const std::vector<fs::path> devices = sorted_entries("/sys/class/infiniband");
  if (devices.empty()) {
    return {false, "no RDMA device"};
  }
  Probe probe;
  for (const fs::path& device : devices) {
    for (const fs::path& port : sorted_entries(device / "ports")) {
      const std::string state = state_word(first_line(port / "state"));
      probe.works |= state == "active";
      probe.detail += fmt::format(
          "{}{} port {} {} ({}, {})", probe.detail.empty() ? "" : "; ",
          device.filename().string(), port.filename().string(), state,
          first_line(port / "link_layer"), first_line(port / "rate"));
    }
  }
  if (::access((std::string(kNodes) + "/rdma_cm").c_str(), R_OK | W_OK) != 0) {
    probe.works = false;
    probe.detail += fmt::format("; no access to {}/rdma_cm", kNodes);
  }
  return probe;
}

}  // namespace acp::info
