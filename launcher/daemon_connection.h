// The connection to one daemon: the remote shell that starts it, the messages
// in both directions, and how it ends. acprun has one for each daemon that it
// starts, and so has a daemon that starts daemons.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "launcher/event_loop.h"
#include "launcher/heartbeat.h"
#include "launcher/host_message.h"
#include "launcher/host_orders.h"
#include "launcher/write_queue.h"

namespace acp::launcher {

/// Used by the thread of the event loop, which alone touches all fields.
///
/// waiting -> starting -> open -> over; from starting back to waiting when the
/// remote shell has failed in a way that may pass. over is final.
/// DaemonConnections moves a connection from waiting to starting, because it
/// bounds the starts.
class DaemonConnection {
 public:
  using Clock = std::chrono::steady_clock;
  using OnMessage = std::function<void(HostMessage)>;
  /// Called once, with the reason; "" when every host has said Done before.
  using OnOver = std::function<void(const Reason& why)>;
  /// Gives the pause before a remote shell that has failed starts again.
  using Pause = std::function<std::chrono::milliseconds()>;

  /// The daemon's host is the first of the orders. All arguments but the orders
  /// must outlive this.
  DaemonConnection(const HostOrders& orders,
                   EventLoop& loop,
                   OnMessage on_message,
                   OnOver on_over,
                   Pause pause);
  DaemonConnection(const DaemonConnection&) = delete;
  DaemonConnection& operator=(const DaemonConnection&) = delete;
  /// Kills the remote shell. Its daemon then loses its lifeline.
  ~DaemonConnection();

  /// Starts the remote shell of a connection that waits_to_start().
  void start();

  /// Whether start() is due, for the first time or again.
  bool waits_to_start(Clock::time_point now) const noexcept {
    return state_ == State::kWaiting &&
           (is_waiting_for_room_ || now >= start_at_);
  }

  /// Too many others start. So next() no longer has the time of the start, and
  /// the caller starts the connection when one of the others has started or
  /// ended.
  void wait_for_room() noexcept { is_waiting_for_room_ = true; }

  /// Sends a message, after the orders. Messages to a connection that is over
  /// are dropped.
  void send(SharedBytes bytes);

  /// Looks at the deadlines and at the shell's end. Call it after every event
  /// and at the time next().
  void check();
  Clock::time_point next() const;

  bool has_host(std::uint32_t host) const;

  /// The hosts of the connection, without their ranks.
  const std::vector<HostRanks>& hosts() const { return hosts_; }

  /// The shell was started and the daemon has not greeted yet.
  bool is_starting() const noexcept { return state_ == State::kStarting; }

  bool is_over() const noexcept { return state_ == State::kOver; }

  /// The remote shell's process; -1 when it does not run.
  pid_t pid() const noexcept { return pid_; }

  /// All hosts of the connection have said Done: its end is no failure.
  void note_done() noexcept { is_done_ = true; }

  /// Ends the daemon without waiting for it.
  void kill();

 private:
  enum class State : std::uint8_t { kWaiting, kStarting, kOpen, kOver };

  void on_readable();
  void on_words();
  void on_writable();
  void on_shell_end();
  void read_greeting();
  void read_messages();
  void close_output();
  void close_pipes();
  void lose(const Reason& why);
  void retry_or_lose(int status);
  std::string last_words() const;
  std::string describe_shell_end(int status) const;

  // The thread of the event loop alone touches these fields. The constructor
  // writes the first ones, and start() and close_pipes() write the descriptors.
  RemoteShell shell_;
  std::vector<HostRanks> hosts_;  ///< The daemon's host and those below it.
  /// Both until read_greeting() moves them into queue_.
  std::shared_ptr<const protocol::JobSecret> secret_;
  SharedBytes orders_;
  EventLoop& loop_;
  OnMessage on_message_;
  OnOver on_over_;
  Pause pause_;
  /// Written by start(), read_greeting(), retry_or_lose() and kill().
  State state_ = State::kWaiting;
  /// The remote shell; -1 before its start and after its end.
  pid_t pid_ = -1;
  UniqueFd in_;               ///< The daemon's standard input: its lifeline.
  UniqueFd out_;              ///< Its standard output.
  UniqueFd words_;            ///< Standard error of the remote shell.
  UniqueFd end_;              ///< Readable when the remote shell has ended.
  WriteQueue queue_;          ///< Messages to the daemon.
  std::string greeting_;      ///< Output before the greeting was found.
  HostMessageReader reader_;  ///< Output behind the greeting.
  std::string said_;          ///< The end of standard error.
  Heartbeat heartbeat_;       ///< Runs in kOpen.
  /// While waiting: time of the next try. The first is due at once.
  Clock::time_point start_at_{};
  /// Set by wait_for_room(), cleared by start().
  bool is_waiting_for_room_ = false;
  Clock::time_point deadline_;    ///< While starting: of the greeting.
  Clock::time_point collect_by_;  ///< The shell has closed its output.
  int tries_ = 0;                 ///< Starts of the remote shell so far.
  bool is_done_ = false;          ///< Set by note_done().
};

}  // namespace acp::launcher
