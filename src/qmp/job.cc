// Joining and leaving the job. Called by machine_api.cc, and by exit() for
// programs that do not call QMP_finalize_msg_passing. Two threads may not call
// it at the same time; it waits for all other nodes.
#include "qmp/job.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>
#include <string>

#include "acp.h"
#include "acp/extension.h"
#include "inbox/reserved_call.h"
#include "qmp/failure.h"
#include "qmp/partition.h"
#include "qmp/settings.h"

namespace qmp {

namespace {

/// Default of QMP_MEMORY (docs/qmp.md). Pages that are not used take no memory.
constexpr std::size_t kModuleBytes = std::size_t{16} << 20;
constexpr double kMaxSeconds = 2'000'000;  // in milliseconds it fits an int

/// Written by the thread that calls init and finalize; read by any thread.
std::atomic<Job*> g_job{nullptr};
std::atomic<NodeNumber> g_node_number{NodeNumber{0, 0}};  // has not joined
std::atomic<bool> g_has_ended{false};
/// In a child made by fork(): the job of the parent. It is never destroyed
/// there, and this pointer keeps leak checkers silent.
std::atomic<Job*> g_parents_job{nullptr};

/// The value of a variable of the launcher, or -1.
int launcher_value(const char* name) {
  const char* text = std::getenv(name);
  int value = -1;
  if (text != nullptr) {
    const char* end = text + std::strlen(text);
    const auto [stop, error] = std::from_chars(text, end, value);
    value = error == std::errc{} && stop == end ? value : -1;
  }
  return value;
}

/// The number that acprun has given to this process; 0 of 1 if it has none.
NodeNumber launched_number() {
  const NodeNumber number{launcher_value("ACP_RANK"),
                          launcher_value("ACP_PROCS")};
  return 0 <= number.node && number.node < number.nodes ? number : NodeNumber{};
}

/// Warns of options that have no effect. One node speaks for all.
void warn_of_idle_options(const Options& options) {
  for (const std::string& word : options.unknown) {
    (void)QMP_fprintf(stderr,
                      "warning: %s is no option of QMP, which has %s; the "
                      "program gets it",
                      word.c_str(), kOptionNames);
  }
  if (options.geometry.empty() && !options.allocated_map.empty()) {
    (void)QMP_fprintf(stderr,
                      "warning: -qmp-alloc-map %s has no effect without "
                      "-qmp-geom or QMP_GEOM",
                      text_of(options.allocated_map).c_str());
  }
}

/// Checks settings and options before acp_init, so that a mistake does not let
/// other nodes wait.
QMP_status_t join(Job& made, int* argc, char*** argv) {
  const auto memory = number_setting("QMP_MEMORY", Unit::kBytes, kModuleBytes,
                                     1 << 20, 1LL << 40);
  const auto timeout =
      number_setting("QMP_WAIT_TIMEOUT", Unit::kSeconds, 600, 0, kMaxSeconds);
  auto options = take_options(argc, argv != nullptr ? *argv : nullptr);
  if (!memory || !timeout || !options) {
    return QMP_INVALID_ARG;
  }
  made.options = std::move(*options);
  // The value 0 means no limit; a small one must not become 0 ms.
  made.wait_timeout_ms =
      *timeout == 0 ? -1 : std::max(1, static_cast<int>(*timeout * 1000));
  acpx_module_t module{};
  module.name = "qmp";
  module.bytes = static_cast<std::size_t>(*memory);
  const char* before = acpx_enter_call("QMP_init_msg_passing");
  const int number = acpx_add_module(&module);
  acpx_leave_call(before);
  if (number < 0 && acp_errno == ACPX_ALREADY_INITIALIZED) {
    return fail(QMP_INITSVC_ERR,
                "cannot join the job: leave acp_init out, "
                "QMP_init_msg_passing calls it");
  }
  if (number < 0 || acp_init(argc, argv) != 0) {
    return fail(QMP_INITSVC_ERR, "cannot join the job: %s",
                acpx_strerror(acp_errno));
  }
  const inbox::ReservedCall call;
  std::uint64_t errors = 0;  // 1 is abort
  end_job_on_failure(acpx_setting("ACP_ERRORS", &errors) == 0 && errors == 1);
  made.world = std::make_unique<QMP_comm_struct>();
  made.world->ranks.resize(static_cast<std::size_t>(acp_procs()));
  std::iota(made.world->ranks.begin(), made.world->ranks.end(), 0);
  made.world->me = acp_rank();
  g_node_number.store({made.world->me, made.world->nodes()});
  if (made.world->me == 0) {  // One node speaks for all.
    warn_of_unknown_settings();
    warn_of_idle_options(made.options);
  }
  if (!made.exchange.begin(number, module.bytes)) {
    return fail(QMP_NOMEM_ERR, "no memory for the channels; QMP_MEMORY is %zu",
                module.bytes);
  }
  join_comm(made, *made.world);
  const QMP_status_t status = lay_out_machine(made);
  return status != QMP_SUCCESS ? status : split_jobs(made);
}

void tell_what_is_joined(const Job& made) {
  const QMP_comm_struct& mine = *made.allocated;
  g_node_number.store({mine.me, mine.nodes()});
  tell("joined job %d of %d, machine %s; QMP_WAIT_TIMEOUT %g s",
       made.job_number, made.jobs,
       made.machine ? text_of(made.machine->dims()).c_str() : "a switch",
       std::max(made.wait_timeout_ms, 0) / 1000.0);
}

/// Makes a child of fork() leave the job of its parent, as libacp does. It ends
/// nothing and takes no lock.
void leave_parents_job() {
  if (Job* parents = g_job.exchange(nullptr, std::memory_order_relaxed)) {
    g_parents_job.store(parents, std::memory_order_relaxed);
  }
}

/// The process that joined: children made by fork() inherit at_exit.
pid_t g_pid = 0;

/// Programs often call exit(0) without finalize. Another status ends the job
/// anyway.
void at_exit(int status, void* /*unused*/) {
  if (status == 0 && ::getpid() == g_pid) {
    end();
  }
}

}  // namespace

Job* job() noexcept {
  return g_job.load(
      std::memory_order_acquire);  // Pairs with the release in begin().
}

NodeNumber node_number() noexcept {
  const NodeNumber joined = g_node_number.load();
  return joined.nodes != 0 ? joined : launched_number();
}

Job* job_for(const char* function) {
  Job* mine = job();
  if (mine == nullptr) {
    (void)fail(QMP_NOT_INITED,
               g_parents_job.load(std::memory_order_relaxed) != nullptr
                   ? "%s: refused in a child made by fork(), which is not part "
                     "of the job"
               : g_has_ended ? "%s: called after QMP_finalize_msg_passing"
                             : "%s: call QMP_init_msg_passing before",
               function);
  }
  return mine;
}

Job* job_to_begin(const char* function) {
  Job* mine = job_for(function);
  if (mine != nullptr && inbox::ReservedCall::lacks_memory()) {
    return fail_null(QMP_NOMEM_ERR, inbox::ReservedCall::kRefusal, function);
  }
  return mine;
}

namespace {

/// Before acp_init there is no reserve, so an allocation may still fail.
QMP_status_t join_with_memory(std::unique_ptr<Job>& made,
                              int* argc,
                              char*** argv) {
  try {
    made = std::make_unique<Job>();
    return join(*made, argc, argv);
  } catch (const std::bad_alloc&) {
    return fail(QMP_NOMEM_ERR, "QMP_init_msg_passing: no memory");
  }
}

}  // namespace

/// Joins first, and shows the job to other threads when all of it is made. When
/// joining fails after acp_init, it leaves the job again. The handlers for exit
/// and fork are registered once, since they cannot be removed.
QMP_status_t begin(int* argc, char*** argv) {
  if (job() != nullptr) {
    return fail(QMP_INVALID_OP, "QMP_init_msg_passing: called already");
  }
  if (g_has_ended) {
    return fail(QMP_INVALID_OP,
                "QMP_init_msg_passing: called after QMP_finalize_msg_passing; "
                "a process joins a job once");
  }
  std::unique_ptr<Job> made;
  const QMP_status_t status = join_with_memory(made, argc, argv);
  const inbox::ReservedCall call;
  if (status != QMP_SUCCESS) {
    if (made != nullptr &&
        made->world != nullptr) {  // acp_init has joined the job
      made.reset();
      (void)acp_finalize();
    }
    return status;
  }
  tell_what_is_joined(*made);
  g_pid = ::getpid();
  g_job.store(made.release(), std::memory_order_release);
  static const bool is_registered =
      on_exit(&at_exit, nullptr) == 0 &&
      ::pthread_atfork(nullptr, nullptr, &leave_parents_job) == 0;
  (void)is_registered;
  return QMP_SUCCESS;
}

/// Leaves in three steps: send what is queued, meet all nodes, end progress and
/// meet them again before memory is freed.
void end() {
  std::unique_ptr<Job> mine(g_job.exchange(nullptr, std::memory_order_acq_rel));
  if (mine == nullptr) {
    return;
  }
  const inbox::ReservedCall call;
  g_has_ended = true;
  end_job_on_failure(false);
  tell("leaves");
  const char* before = acpx_enter_call("QMP_finalize_msg_passing");
  mine->exchange.leave(mine->barriers);
  // Messages under way still go out until all nodes have come here.
  acp_complete(ACP_HANDLE_ALL);
  (void)acp_sync();
  mine->exchange.end();
  acp_complete(ACP_HANDLE_ALL);
  mine->exchange.be_over();
  // All nodes have come here, so none writes into halves any more.
  (void)acp_sync();
  mine.reset();
  (void)acp_finalize();
  acpx_leave_call(before);
}

}  // namespace qmp
