/* A user's program: each node counts itself. */
#include <stdio.h>

#include <qmp.h>

static int one(int unused) {
  _QMP_UNUSED_ARGUMENT(unused);
  return 1;
}

int main(int argc, char** argv) {
  QMP_thread_level_t provided;
  if (QMP_init_msg_passing(&argc, &argv, QMP_THREAD_SINGLE, &provided) !=
      QMP_SUCCESS) {
    return 1;
  }
  int count = one(0);
  if (QMP_sum_int(&count) != QMP_SUCCESS) {
    QMP_abort(1);
  }
  if (QMP_is_primary_node()) {
    printf("%s: %d ranks\n", QMP_version_str(), count);
  }
  QMP_finalize_msg_passing();
  return 0;
}
