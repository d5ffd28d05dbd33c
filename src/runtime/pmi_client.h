// The common part of the clients of PMI-1 and PMI-2. Both ask a launcher over
// one socket, in requests that differ in words only.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/pmi_connection.h"
#include "runtime/process_manager.h"

namespace acp::runtime {

/// Threads: as ProcessManager.
class PmiClient : public ProcessManager {
 public:
  std::uint32_t rank() const noexcept final { return rank_; }

  std::uint32_t size() const noexcept final { return size_; }

  /// Says "finalize", unless an MPI library of this process does. If MPI may
  /// still begin in this process, that is decided when the process exits: the
  /// launcher closes the connection after "finalize".
  void finalize() final;

  /// An MPI library that is loaded may begin at any time.
  bool shares_connection() const noexcept final;

  DeathWatch death_watch() const noexcept final {
    return connection_->death_watch();
  }

 protected:
  PmiClient(PmiDialect dialect, UniqueFd socket);

  /// PmiConnection::request(); a refusal is kProtocol, logged.
  Result<PmiMessage> ask(std::string_view command,
                         std::initializer_list<PmiMessage::Field> fields,
                         std::string_view expected,
                         const WaitLimit& limit,
                         PmiAnswer kind = PmiAnswer::kAtOnce);
  /// PmiConnection::request(): the answer may be a refusal.
  Result<PmiMessage> try_to_ask(std::string_view command,
                                std::initializer_list<PmiMessage::Field> fields,
                                std::string_view expected,
                                const WaitLimit& limit,
                                PmiAnswer kind = PmiAnswer::kAtOnce);
  /// ask(), for a request whose answer only says whether it has succeeded.
  [[nodiscard]] Status ask_for_success(
      std::string_view command,
      std::initializer_list<PmiMessage::Field> fields,
      std::string_view expected,
      const WaitLimit& limit,
      PmiAnswer kind = PmiAnswer::kAtOnce);
  /// ask(), for the value of a key. Empty: the launcher has none.
  Result<std::string> ask_for_value(
      std::string_view command,
      std::initializer_list<PmiMessage::Field> fields,
      std::string_view expected,
      const WaitLimit& limit);
  /// Agrees with the launcher on the version, in words of PMI-1 in both
  /// dialects.
  [[nodiscard]] Status agree_on_version(std::string_view version,
                                        std::string_view subversion,
                                        const WaitLimit& limit);
  /// The hosts of the ranks, by PMI_process_mapping in the answer. Empty when
  /// it names none.
  NodeMap node_map_in(const PmiMessage& answer) const;
  [[nodiscard]] Status set_rank_and_size(std::optional<std::int64_t> rank,
                                         std::optional<std::int64_t> size);
  /// Sends a message that has no answer, and that makes the launcher end the
  /// job, after a pause. Hydra drops output that it has not passed on by then,
  /// and with it the line that says why the job ends. Then waits up to 1 s to
  /// be killed: if this process exits first, the job's status can be 9 or 0.
  void tell_to_abort(std::string_view command,
                     std::initializer_list<PmiMessage::Field> fields);

 private:
  const PmiDialect dialect_;
  std::unique_ptr<PmiConnection> connection_;
  std::uint32_t rank_ = 0;
  std::uint32_t size_ = 1;
};

/// The client of PMI-1: MPICH's mpiexec (Hydra), and others. Returns after the
/// launcher has answered. kUnsupported, kProtocol, kSystem: logged; kTimedOut:
/// not logged.
Result<std::unique_ptr<ProcessManager>> connect_by_pmi1(const WaitLimit& limit);

/// The client of PMI-2: srun --mpi=pmi2, and Hydra. It fails as
/// connect_by_pmi1() does.
Result<std::unique_ptr<ProcessManager>> connect_by_pmi2(const WaitLimit& limit);

/// Connects a client of the class to the launcher of this process.
template <typename Client>
Result<std::unique_ptr<ProcessManager>> connect_client(const WaitLimit& limit) {
  Result<UniqueFd> socket = open_pmi_socket();
  if (!socket.ok()) {
    return socket.status();
  }
  auto client = std::make_unique<Client>(std::move(*socket));
  if (const Status status = client->connect(limit); status != Status::kOk) {
    return status;
  }
  return std::unique_ptr<ProcessManager>(std::move(client));
}

/// An environment variable as a number; nothing when it is none.
std::optional<std::int64_t> number_in_environment(const char* variable);

}  // namespace acp::runtime
