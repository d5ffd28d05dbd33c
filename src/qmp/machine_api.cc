// Beginning and end of QMP, and the facts that qmp.h gives of the machine and
// of the jobs on it. Programs call it, also before init and after finalize.
// job.cc does the work of begin and end; the other functions only read.
#include "qmp.h"
#include "qmp/job.h"

using qmp::Job;

extern "C" {

QMP_status_t QMP_init_msg_passing(int* argc,
                                  char*** argv,
                                  QMP_thread_level_t required,
                                  QMP_thread_level_t* provided) {
  const QMP_status_t status = qmp::begin(argc, argv);
  if (status == QMP_SUCCESS && provided != nullptr) {
    *provided = required;
  }
  return status;
}

QMP_bool_t QMP_is_initialized(void) {
  return qmp::job() != nullptr ? QMP_TRUE : QMP_FALSE;
}

void QMP_finalize_msg_passing(void) {
  qmp::end();
}

QMP_ictype_t QMP_get_msg_passing_type(void) {
  const Job* mine = qmp::job();
  return mine != nullptr && mine->machine ? QMP_GRID : QMP_SWITCH;
}

int QMP_get_allocated_number_of_dimensions(void) {
  const Job* mine = qmp::job();
  return mine != nullptr && mine->machine ? mine->machine->axes() : 0;
}

const int* QMP_get_allocated_dimensions(void) {
  const Job* mine = qmp::job();
  return mine != nullptr && mine->machine ? mine->machine->dims().data()
                                          : nullptr;
}

const int* QMP_get_allocated_coordinates(void) {
  const Job* mine = qmp::job();
  return mine != nullptr && mine->machine ? mine->machine_coordinates.data()
                                          : nullptr;
}

int QMP_get_number_of_jobs(void) {
  const Job* mine = qmp::job();
  return mine != nullptr ? mine->jobs : 1;
}

int QMP_get_job_number(void) {
  const Job* mine = qmp::job();
  return mine != nullptr ? mine->job_number : 0;
}

int QMP_get_number_of_job_geometry_dimensions(void) {
  const Job* mine = qmp::job();
  return mine != nullptr ? static_cast<int>(mine->options.jobs.size()) : 0;
}

const int* QMP_get_job_geometry(void) {
  const Job* mine = qmp::job();
  return mine != nullptr && !mine->options.jobs.empty()
             ? mine->options.jobs.data()
             : nullptr;
}

int QMP_io_node(int node) {
  return node;
}

int QMP_master_io_node(void) {
  return 0;
}

}  // extern "C"
