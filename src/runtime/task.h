// One rank's whole library: everything between acp_init and acp_finalize.
//
// The public functions reach it through task() in src/api; tests make several
// in one process, as ranks that are threads. Its parts: job_plan.h (decisions
// before anything is opened), progress.h, sync.h, own_regions.h, renumbering.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent/agent.h"
#include "base/log.h"
#include "base/touch.h"
#include "gma/engine.h"
#include "gmm/address_space.h"
#include "gmm/key_table.h"
#include "protocol/host_segment.h"
#include "runtime/bootstrap.h"
#include "runtime/counted_ways.h"
#include "runtime/counters.h"
#include "runtime/modules.h"
#include "runtime/network_choice.h"
#include "runtime/own_regions.h"
#include "runtime/progress.h"
#include "runtime/renumbering.h"
#include "runtime/sync.h"
#include "runtime/transport_set.h"
#include "runtime/wait_record.h"
#include "settings/settings.h"
#include "status/result.h"
#include "transport/network.h"
#include "transport/shm/doorbell_socket.h"

namespace acp::runtime {

/// One thread of a rank at a time may call collective functions. All others are
/// as thread-safe as the public functions that they carry out.
class Task {
 public:
  /// `modules` must outlive the task. All other functions need join() first.
  Task(const Settings& settings,
       std::unique_ptr<Bootstrap> bootstrap,
       Modules& modules);

  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  /// Ends the progress thread. Does not tell the launcher that this rank
  /// leaves; finalize() does.
  ~Task();

  /// Joins the job; returns when all ranks have. Once.
  [[nodiscard]] Status join(const NetTransportFactory& make_net_transport);
  /// A failure ends the job with status 1, unless the job ends already.
  [[nodiscard]] Status finalize();

  /// Sync::wait().
  [[nodiscard]] Status sync(TimePoint deadline = TimePoint::max()) {
    return sync_->wait(deadline);
  }

  /// Gives the program's modules their memory, and begins them: the program
  /// joins a job that a layer above has begun.
  [[nodiscard]] Status join_program();
  /// Ends the program's modules, and meets the other ranks: the program leaves
  /// a job that a layer above holds, which goes on. A failure ends the job with
  /// status 1.
  [[nodiscard]] Status leave_program();

  /// kBadRank, logged: the new numbers are no numbering; the old ones stay.
  [[nodiscard]] Status reset(int new_rank);
  /// Prints and ends the job and this process.
  [[noreturn]] void abort(std::string_view text, int error);
  /// Ends the job because of an error that has been logged as `text`.
  [[noreturn]] void abort_after_error(std::string_view text);

  /// Tells the launcher how many errors this process has reported. Any thread.
  void tell_errors() noexcept;

  /// OwnRegions::add(), OwnRegions::remove() and OwnRegions::try_remove().
  Result<gmm::GlobalAddress> register_memory(
      void* address,
      std::size_t size,
      int color,
      LogLevel level = LogLevel::kError) {
    return own_regions_->add(address, size, color, level);
  }

  [[nodiscard]] Status unregister_memory(gmm::GlobalAddress atkey) {
    return own_regions_->remove(atkey);
  }

  [[nodiscard]] Result<bool> try_unregister_memory(gmm::GlobalAddress atkey) {
    return own_regions_->try_remove(atkey);
  }

  gmm::GlobalAddress starter(gmm::Rank rank) const noexcept;
  Result<gmm::GlobalAddress> module_memory(int module, int rank) const;

  gma::Engine& engine() noexcept { return *engine_; }

  const gmm::AddressSpace& space() const noexcept { return engine_->space(); }

  const gmm::KeyTable& keys() const noexcept { return *keys_; }

  Progress& progress() noexcept { return *progress_; }

  gmm::ThreadWaker& waker() noexcept { return *doorbell_; }

  /// Null unless ACP_COUNTERS is 1; then counted_ways() exists as well.
  Counters* counters() noexcept { return counters_.get(); }

  CountedWays& counted_ways() noexcept { return *counted_ways_; }

  std::uint32_t procs() const noexcept { return segment_.header().procs; }

  /// The network transport; null where ranks need none.
  const transport::Transport* net() const noexcept {
    return transports_->net();
  }

  /// The transport to the hosts on this rank's fabric, where the job has two
  /// networks; else null.
  const transport::Transport* rdma() const noexcept {
    return transports_->rdma();
  }

  /// Why the network between hosts is this one, for people.
  const std::string& network_why() const noexcept { return network_why_; }

  /// The first process of this rank's host; it stands for the host.
  std::uint32_t host_leader() const noexcept { return segment_.record(0).proc; }

  /// This rank's settings; ACP_NET=auto may have become "ib".
  const Settings& settings() const noexcept { return settings_; }

  gmm::Rank rank() const noexcept { return space().my_rank(); }

  const protocol::HostSegment& segment() const noexcept { return segment_; }

 private:
  [[noreturn]] void leave_aborted(std::string_view why);
  /// Ends this process with status 1, after its lines have been delivered.
  [[noreturn]] static void end_process();
  Status open(const NetTransportFactory& make_net_transport);
  void begin_to_count();
  Status open_transports(const NetTransportFactory& make_net_transport);
  Status open_engine();
  void watch_neighbor();
  Status start();
  Status leave();
  Status leave_modules();
  Status end_after(const char* function, Status status);
  bool modules_agree() const;
  std::uint32_t leader_of(std::uint32_t proc) const;
  bool networks_agree() const;
  void log_unlike_sharing(std::uint32_t proc) const;
  bool sharing_agrees() const;
  Status drain(protocol::WaitKind kind);
  Status collective();
  Status agree_on_rank(int new_rank);
  void take_new_rank(gmm::Rank rank);
  void set_identity();

  // The parts are in the order in which they are opened. Each uses some of the
  // parts before it, and ends before them.
  //
  // The constructor and join() write all fields, before another thread has the
  // task. After that each part guards itself, but for renumbering_ and sync_,
  // which only the thread in a collective function uses.
  Settings settings_;
  std::unique_ptr<Bootstrap> bootstrap_;  ///< Owns the host segment.
  Modules& modules_;
  const protocol::HostSegment& segment_;
  std::uint32_t slot_;  ///< Slot of this process in the host segment.
  std::unique_ptr<Counters> counters_;  ///< Null: this rank counts nothing.
  WaitRecord waits_;                    ///< Its first wait is acp_init.
  Renumbering renumbering_;
  std::unique_ptr<shm::DoorbellSocket> doorbell_;
  std::unique_ptr<gmm::KeyTable> keys_;
  FaultHandler fault_handler_;  ///< Lets can_touch() survive bad memory.
  std::unique_ptr<TransportSet> transports_;
  std::string network_why_;  ///< Written by open_transports().
  gmm::Color colors_ = 1;
  std::unique_ptr<Progress> progress_;
  std::optional<gma::Engine> engine_;  ///< Never moves: parts point to it.
  std::unique_ptr<agent::Agent> agent_;
  std::optional<CountedWays> counted_ways_;  ///< Empty without counters_.
  std::optional<Sync> sync_;
  std::optional<OwnRegions> own_regions_;
};

}  // namespace acp::runtime
