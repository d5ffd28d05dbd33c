/* A user's program: two hosts send each other a number; the one with the
 * smaller process id speaks. */
#include <stdio.h>
#include <unistd.h>

#include <lqcd.h>

int main(void) {
  if (initMachine() != 0) {
    return 1;
  }
  int mine = (int)getpid();
  int other = 0;
  void* receive = declareReceive(&other, sizeof other, 7);
  startReceive(receive);
  sendBroadcast(&mine, sizeof mine, 7);
  if (waitFor(receive, 60000) != 1) {
    return 1;
  }
  int hosts = sumInt(1);
  if (mine < other) {
    printf("LQCD: %d ranks\n", hosts);
  }
  return shutdownMachine();
}
