// The state of the older interface in this process, and its failures.
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
  int wait_timeout_ms = 600'000;  ///< -1: none.
};

/// nullptr before initMachine and after shutdownMachine.
Machine* machine();
/// The same, and a failure that names the function.
Machine* machine_for(const char* function);

QMP_status_t begin();
QMP_status_t end();

/// Collective: host numbers that all hosts agree about, or a failure on all.
QMP_status_t declare_topology(Machine& machine,
                              const std::vector<int>& sizes,
                              int own_host);

/// 1, 0 or -1, as waitFor.
int wait_for(Machine& machine, Handle* handle, int milliseconds);

/// The calling thread's last failure.
struct Failure {
  QMP_status_t status = QMP_SUCCESS;
  std::string text;
};

Failure& last_failure();

/// Keeps it and prints a line; returns the status.
[[gnu::format(printf, 2, 3)]] QMP_status_t fail(QMP_status_t status,
                                                const char* format,
                                                ...);
/// Keeps a failure of QMP, which has printed it.
QMP_status_t keep(QMP_status_t status);

}  // namespace lqcd
