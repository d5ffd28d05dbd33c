/* A user's program: two hosts send each other their numbers, which QMP knows;
 * host 0 speaks. */
#include <stdio.h>

#include <lqcd.h>
#include <qmp.h>

/* Each host broadcasts its number to the other one, and both sum. The receive
 * is started first, because no message goes into a receive that is not started.
 */
int main(void) {
  if (initMachine() != 0) {
    return 1;
  }
  int mine = QMP_get_node_number();
  int other = -1;
  void* receive = declareReceive(&other, sizeof other, 7);
  startReceive(receive);
  sendBroadcast(&mine, sizeof mine, 7);
  if (waitFor(receive, 60000) != 1 || other != 1 - mine) {
    return 1;
  }
  if (sumInt(1) != QMP_get_number_of_nodes()) {
    return 1;
  }
  if (mine == 0) {
    printf("LQCD: %d ranks\n", QMP_get_number_of_nodes());
  }
  return shutdownMachine();
}
