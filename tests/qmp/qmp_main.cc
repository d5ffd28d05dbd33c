// main() of the test programs of QMP: joins by QMP, runs the cases, leaves.
#include "qmp.h"
#include "support/spmd.h"

int main(int argc, char** argv) {
  if (spmd::list_cases(argc, argv)) {
    return 0;
  }
  spmd::watch_time();
  QMP_thread_level_t provided = QMP_THREAD_SINGLE;
  if (QMP_init_msg_passing(&argc, &argv, QMP_THREAD_MULTIPLE, &provided) !=
          QMP_SUCCESS ||
      provided != QMP_THREAD_MULTIPLE) {
    return 1;
  }
  const int result = spmd::run_chosen(argc, argv);
  QMP_finalize_msg_passing();
  return result;
}
