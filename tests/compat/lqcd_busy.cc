// The progress step of the older LQCD interface while a thread is inside a
// call: it finds the mailbox in use, and says so. Otherwise the thread of the
// library would sleep past a message that the call no longer looks for.
#include <dlfcn.h>

#include <optional>
#include <thread>

#include "acp.h"
#include "acp/extension.h"
#include "lqcd.h"
#include "support/spmd.h"

namespace {

/// The progress step that was added last, with its argument. main() writes it,
/// by initMachine.
struct Step {
  int (*function)(void*) = nullptr;
  void* argument = nullptr;

  int run() const { return function(argument); }
};

Step g_last_step;
/// The step of the mailbox. main() writes it before the cases.
Step g_step;

/// Two answers of the step while a call has the mailbox in use: in the thread
/// of the call, and in another one.
struct Answers {
  int here = 0;
  int beside = 0;
};

/// The next acp_inquire of this thread asks the step.
thread_local bool t_is_asked = false;
thread_local std::optional<Answers> t_answers;

}  // namespace

/// Replaces the function of libacp, for the LQCD library as well.
extern "C" [[gnu::visibility("default")]] int acpx_add_progress(
    int (*step)(void*), void* arg) {
  static const auto real = reinterpret_cast<decltype(&acpx_add_progress)>(
      ::dlsym(RTLD_NEXT, "acpx_add_progress"));
  g_last_step = {step, arg};
  return real(step, arg);
}

/// The mailbox calls it under its lock. The library runs progress steps in it.
extern "C" [[gnu::visibility("default")]] int acp_inquire(acp_handle_t handle) {
  static const auto real = reinterpret_cast<decltype(&acp_inquire)>(
      ::dlsym(RTLD_NEXT, "acp_inquire"));
  if (t_is_asked) {
    t_is_asked = false;
    Answers answers;
    answers.here = g_step.run();
    std::thread([&answers] { answers.beside = g_step.run(); }).join();
    t_answers = answers;
  }
  return real(handle);
}

SPMD_CASE(lqcd_step_is_busy,
          "startSend: the progress step says that the mailbox is in use") {
  int out = 7;
  int in = 0;
  void* send = declareSendTo(&out, sizeof out, acp_rank(), 1);
  void* receive = declareReceive(&in, sizeof in, 1);
  startReceive(receive);
  t_is_asked = true;
  startSend(send);
  EXPECT(t_answers.has_value());
  EXPECT_EQ(t_answers->here, ACPX_STEP_BUSY);
  EXPECT_EQ(t_answers->beside, ACPX_STEP_BUSY);
  EXPECT_EQ(waitFor(send, spmd::kPatience), 1);
  EXPECT_EQ(waitFor(receive, spmd::kPatience), 1);
  EXPECT_EQ(in, 7);
}

int main(int argc, char** argv) {
  if (spmd::list_cases(argc, argv)) {
    return 0;
  }
  spmd::watch_time();
  if (initMachine() != 0) {
    return 1;
  }
  g_step = g_last_step;
  EXPECT(g_step.function != nullptr);
  const int result = spmd::run_chosen(argc, argv);
  return shutdownMachine() == 0 ? result : 1;
}
