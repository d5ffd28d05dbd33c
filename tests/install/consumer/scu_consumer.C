// A user's program, as old ones are: it does not name its folders.
#include <stdio.h>
#include <sysfunc.h>

int main() {
  float one = 1;
  float sum = 0;
  SCUGlobalSum(TYPE_float, sizeof(float), 1, &one, &sum);
  int data = UniqueID();
  SCUDirArg send(&data, SCU_TP, SCU_SEND, 1);
  SCUDirArg receive(&data, SCU_TM, SCU_REC, 1);
  SCUTrans(&send);
  SCUTrans(&receive);
  SCUTransComplete();
  sync();
  if (data == 2) {
    printf("SCU: %d ranks\n", (int)sum);
  }
  return 0;
}
