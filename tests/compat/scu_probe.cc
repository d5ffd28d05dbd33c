// A program over the SCU interface. Its first argument selects the behaviour,
// and compat_job_test.cc checks the end of the job and the output.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "scu/sysfunc.h"

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "seeds") {
    std::printf("node %d: %u %u %u %u\n", UniqueID(), Seed(), SeedT(), SeedS(),
                SeedST());
  } else if (mode == "talk") {
    int data = UniqueID();
    SCUDirArg send(&data, SCU_TP, SCU_SEND, 1);
    SCUDirArg receive(&data, SCU_TM, SCU_REC, 1);
    SCUTrans(&send);
    SCUTrans(&receive);
    SCUTransComplete();
    std::printf("node %d: got %d\n", UniqueID(), data);
  } else if (mode == "around") {
    // With three nodes along t the directions plus and minus differ.
    int data = UniqueID();
    int from_below = 0;
    SCUDirArg send(&data, SCU_TP, SCU_SEND, 1);
    SCUDirArg receive(&from_below, SCU_TM, SCU_REC, 1);
    SCUTrans(&send);
    SCUTrans(&receive);
    SCUTransComplete();
    std::printf("+t is %d; node %d: below is %d\n", static_cast<int>(SCU_TP),
                UniqueID(), from_below);
  } else if (mode == "left") {
    int data = UniqueID();
    if (data == 1) {
      SCUDirArg receive(&data, SCU_TM, SCU_REC, 1);
      SCUTrans(&receive);
      SCUTransComplete();
    }
  } else if (mode == "raise") {
    if (UniqueID() == 1) {
      SCURaiseError("no more lattice");
    }
    sync();
  } else if (mode == "raise_char") {
    char text[] = "not const";
    (void)UniqueID();
    SCURaiseError(text);
  } else if (mode == "empty") {
    SCUDirArg arg;
    SCUTrans(&arg);
  } else if (mode == "no_dma") {
    int data = 0;
    SCUDirArg send(&data, SCU_YM, SCU_SEND, 1);
    SCUTransAddr(&send);
  } else if (mode == "sum") {
    SCUGlobalSum(TYPE_float, 3, 1, argv, argv);
  } else if (mode == "after") {
    SCUCommsInit();
    SCUCommsFinalize();
    (void)UniqueID();
  } else if (mode == "longer") {
    int data[2000] = {};
    SCUDirArg send(data, SCU_TP, SCU_SEND, 2000);
    SCUDirArg receive(data, SCU_TM, SCU_REC, 10);
    SCUTrans(&send);
    SCUTrans(&receive);
    SCUTransComplete();
  }
  std::exit(0);
}
