// The state of the LQCD message API in this process between initMachine and
// shutdownMachine, and its failures. One thread begins and ends; others may
// send and receive.
#pragma once

#include <string>
#include <vector>

#include "compat/lqcd/hosts.h"
#include "compat/lqcd/mailbox.h"
#include "qmp.h"

namespace lqcd {

struct Machine {
  Hosts hosts;
  Mailbox mailbox;
  int wait_timeout_ms = 600'000;  ///< -1: no limit.
};

/// nullptr before initMachine and after shutdownMachine.
Machine* machine();
/// Returns machine(); nullptr comes with a failure that names `function`.
Machine* machine_for(const char* function);
/// Returns machine_for() to a call that allocates; nullptr also when its
/// ReservedCall has found no memory with which it could end.
Machine* machine_to_begin(const char* function);

QMP_status_t begin();
QMP_status_t end();

/// Numbers the hosts. Collective: all hosts agree, or it fails on all.
QMP_status_t declare_topology(Machine& machine,
                              const std::vector<int>& sizes,
                              int own_host);

/// Returns 1, 0 or -1, as waitFor does.
int wait_for(Machine& machine, Handle* handle, int milliseconds);

/// The last failure of the calling thread. src/qmp/failure.h has one for QMP
/// and says why there are two.
struct Failure {
  QMP_status_t status = QMP_SUCCESS;
  std::string text;
};

Failure& last_failure();

/// Keeps status and text for the thread, prints a line, and returns the status.
/// With ACP_ERRORS=abort it ends the job instead of returning, also before
/// initMachine and after shutdownMachine.
[[gnu::format(printf, 2, 3)]] QMP_status_t fail(QMP_status_t status,
                                                const char* format,
                                                ...);
/// Keeps a failure that QMP has printed, and returns the status.
QMP_status_t keep(QMP_status_t status);

}  // namespace lqcd
