// Finds the launcher and joins the job. Called by acp_init. It changes the
// environment, so no other thread of the library may run yet.
#include "runtime/bootstrap.h"

#include <fcntl.h>

#include <charconv>
#include <chrono>
#include <cstdlib>

#include "base/log.h"
#include "runtime/launcher_choice.h"
#include "runtime/mpi_presence.h"
#include "runtime/pmi_client.h"
#include "runtime/pmix/pmix_client.h"
#include "runtime/process_manager.h"
#include "runtime/standard_output.h"
#include "settings/module.h"

namespace acp::runtime {

namespace {

/// Unsets the variable only when its descriptor is good: a repeated call then
/// names the mistake again.
Result<std::unique_ptr<Bootstrap>> join_acprun(const Settings& settings) {
  const char* text = std::getenv(protocol::kBootstrapFdVariable);
  if (text == nullptr) {
    log_error(
        "ACP_BOOTSTRAP=acprun: acprun has not started this process; start it "
        "with acprun, or leave the setting out");
    return Status::kUnsupported;
  }
  const std::string_view digits(text);
  int fd = -1;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), fd);
  const bool is_number =
      error == std::errc{} && end == digits.data() + digits.size();
  if (!is_number || fd < 0 || ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
    log_error(
        "{}={}: no open socket; start the program with acprun, or unset it",
        protocol::kBootstrapFdVariable, text);
    return Status::kProtocol;
  }
  // A program that this process starts is not a rank of the job.
  ::unsetenv(protocol::kBootstrapFdVariable);
  buffer_output_by_line(settings);
  return connect_to_acprun(UniqueFd(fd));
}

/// ACP_INIT_TIMEOUT, from now on. 0 waits for ever.
TimePoint init_deadline(const Settings& settings) {
  const std::uint64_t seconds = settings.number(SettingId::kInitTimeout);
  return seconds == 0 ? TimePoint::max()
                      : SteadyClock().now() + std::chrono::seconds(seconds);
}

Result<std::unique_ptr<ProcessManager>> connect_by(Provider provider,
                                                   const WaitLimit& limit) {
  return provider == Provider::kPmi2 ? connect_by_pmi2(limit)
                                     : connect_by_pmi1(limit);
}

/// The code of the module stays loaded, so its client may outlive this call.
Result<std::unique_ptr<ProcessManager>> connect_by_module(
    const Settings& settings, const WaitLimit& limit) {
  const LoadedModule module =
      load_module("pmix", settings.text(SettingId::kModulePath));
  if (module.table == nullptr) {
    log_error(
        "PMIx: {}; acprun, mpiexec of MPICH and srun --mpi=pmi2 need no module",
        module.why);
    return Status::kUnsupported;
  }
  log(LogLevel::kDebug, "PMIx: {}", module.path);
  return module.entry_point<ConnectByPmix>()(limit);
}

/// The dialect of the connection that an MPI library has opened before. MPICH
/// speaks PMI-1, also with Slurm's plugin of PMI-2.
Provider beside_mpi(Provider provider) {
  return provider == Provider::kPmi2 && is_slurm_beside_mpi() ? Provider::kPmi1
                                                              : provider;
}

}  // namespace

/// Only a managed job needs a limit here: acprun's ranks and singletons wait
/// for no launcher's server. Output gets its buffer once the launcher has
/// answered, because a process that fails before has printed nothing.
Result<std::unique_ptr<Bootstrap>> find_bootstrap(const Settings& settings) {
  const auto wanted =
      static_cast<Provider>(settings.choice(SettingId::kBootstrap));
  const ProviderChoice choice = choose_provider(
      wanted, [](const char* name) { return std::getenv(name); });
  if (!choice.refusal.empty()) {
    log_error("{}", choice.refusal);
    return Status::kUnsupported;
  }
  switch (choice.provider) {
    case Provider::kAcprun: return join_acprun(settings);
    case Provider::kSingle: return be_singleton(settings);
    default: break;
  }
  WaitLimit limit;
  limit.deadline = init_deadline(settings);
  const Provider provider =
      wanted == Provider::kAuto ? beside_mpi(choice.provider) : choice.provider;
  auto manager = provider == Provider::kPmix
                     ? connect_by_module(settings, limit)
                     : connect_by(provider, limit);
  if (!manager.ok()) {
    if (manager.status() == Status::kTimedOut) {
      log_error("the launcher does not answer; ACP_INIT_TIMEOUT is over");
    }
    return manager.status();
  }
  buffer_output_by_line(settings);
  return join_managed_job(std::move(*manager), settings, limit.deadline);
}

}  // namespace acp::runtime
