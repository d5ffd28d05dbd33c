// A program over the LQCD message API. Its first argument selects the
// behaviour, and compat_job_test.cc checks the end of the job and the output.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "lqcd.h"
#include "qmp.h"

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  std::vector<char> buffer(100'000);
  if (mode == "outside") {
    int one = 1;
    const bool is_refused =
        getMachineType() == 0 && shutdownMachine() != 0 &&
        declareReceive(&one, 4, 1) == nullptr && getErrorNumber() == 0x1002 &&
        declareSendTo(&one, 4, 0, 1) == nullptr &&
        declareSendRelative(&one, 4, 1, 1) == nullptr &&
        testCompletion(nullptr) == -1 && sumInt(5) == 5 && globalOr(true) &&
        std::string(getErrorString()).find("initMachine") != std::string::npos;
    startSend(nullptr);
    startReceive(nullptr);
    sendBroadcast(&one, 4, 1);
    waitForBarrier();
    declareTopology(&one, 1, 0);
    return is_refused ? 0 : 99;
  }
  if (mode == "early") {
    waitForBarrier();
    std::printf("went on\n");
    return 0;
  }
  if (initMachine() != 0) {
    return 77;
  }
  if (mode == "type") {
    std::printf("type %d\n", getMachineType());
  } else if (mode == "timeout") {
    void* receive = declareReceive(buffer.data(), 9000, 5);
    startReceive(receive);
    std::printf("waited %d\n", waitFor(receive, -1));
  } else if (mode == "careless") {
    startSend(nullptr);
    std::printf("went on\n");
  } else if (mode == "late") {
    shutdownMachine();
    waitForBarrier();
    std::printf("went on\n");
  } else if (mode == "patient") {
    // Host 1 sends when host 0 is about to wait, or waits.
    const bool is_first = QMP_get_node_number() == 0;
    void* receive = declareReceive(buffer.data(), 8, 1);
    void* send = declareSendTo(buffer.data(), 8, is_first ? 1 : 0, 1);
    startReceive(receive);
    if (is_first) {
      startSend(send);
    }
    std::printf("waited %d\n", waitFor(receive, -1));
    if (!is_first) {
      startSend(send);
    }
    waitForBarrier();
  } else if (mode == "leave") {
    // Some messages meet no receive, and some receives get no message.
    startSend(declareSendTo(buffer.data(), 100'000, 0, 3));
    startSend(declareSendTo(buffer.data(), 10, 0, 3));
    startReceive(declareReceive(buffer.data(), 10, 4));
    if (argc > 2) {
      std::printf("left %d\n", shutdownMachine());
      std::printf("again %d\n", initMachine());
    }
  }
  std::exit(0);
}
