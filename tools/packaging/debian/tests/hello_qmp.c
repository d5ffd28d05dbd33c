#include <stdio.h>

#include <qmp.h>

int main(int argc, char** argv) {
  QMP_thread_level_t provided;
  if (QMP_init_msg_passing(&argc, &argv, QMP_THREAD_SINGLE, &provided) !=
      QMP_SUCCESS) {
    return 1;
  }
  double sum = 1.0;
  if (QMP_sum_double(&sum) != QMP_SUCCESS) QMP_abort(1);
  if (sum != (double)QMP_get_number_of_nodes()) QMP_abort(2);
  printf("hello from rank %d of %d\n", QMP_get_node_number(),
         QMP_get_number_of_nodes());
  QMP_finalize_msg_passing();
  return 0;
}
