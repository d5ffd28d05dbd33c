// counted_check FILE PATTERN BYTES TIMES NEAR FAR: whether a report of acprun
// has the traffic of counted.cc. Tests of several hosts call it.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "counted_traffic.h"

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "6 arguments are needed\n");
    return 2;
  }
  std::ifstream file(argv[1]);
  const std::string report((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
  const counted::Run run = {argv[2], std::strtoull(argv[3], nullptr, 10),
                            std::strtoull(argv[4], nullptr, 10), argv[5],
                            argv[6]};
  const std::string difference = counted::difference(report, run);
  std::puts(difference.empty() ? "as expected" : difference.c_str());
  return difference.empty() ? 0 : 1;
}
