// The nodes that acprun has started as a machine: a grid or a switch, and its
// division into jobs by -qmp-job. Called by QMP_init_msg_passing alone.
#pragma once

#include "qmp.h"
#include "qmp/job.h"

namespace qmp {

/// Gives a communicator its revocation. Its `number` and `ranks` are known.
void join_comm(Job& made, QMP_comm_struct& comm);

/// Makes the grid that the command line or QMP_GEOM asks for, if any.
QMP_status_t lay_out_machine(Job& made);

/// Makes the communicator of this node's job, and the default ones. Comes after
/// lay_out_machine: the grid of the machine becomes that of the job.
QMP_status_t split_jobs(Job& made);

}  // namespace qmp
