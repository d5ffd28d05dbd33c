// A program for death_test.cc. One rank, the victim, dies at a chosen moment in
// a chosen way. The other ranks wait for it until the job is ended.
//
//   victim MOMENT HOW FILE [marker]
//
// Before it dies the victim writes "rank pid monotonic-nanoseconds" to FILE.
// At moment before_others it dies in acp_init, and the others call it after
// that. With HOW = stay no rank dies, and every rank appends its pid to FILE.
// With the marker "met" all ranks are past acp_init before the moment.
// With HOW = wait the victim keeps its locks and waits until the job is ended.
// At moment in_finalize the victim waits in acp_finalize alone, and at in_fini
// each other rank waits there.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "acp.h"
#include "acp/extension.h"
#include "fault/victim_structures.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Plan {
  std::string_view moment;
  std::string_view how;
  const char* file;
};

constexpr int kVictim = 1;
/// Bytes that peers read at moment is_read. More than one message, and more
/// than one operation of a network.
constexpr std::size_t kReadBytes = std::size_t{3} << 20;

/// Operations that the calling thread has completed; the thread that kills the
/// process reads it.
std::atomic<std::uint64_t> g_copies{0};

/// Waits for a word that no rank ever writes.
void wait_for_ever() {
  acpx_wait_word(acp_query_starter_ga(acp_rank()), 0, -1, nullptr);
  // The job has ended; so does this process, at the latest by its launcher.
  for (;;) {
    pause();
  }
}

/// Writes the file, and then ends the process as the plan says.
[[noreturn]] void die(const Plan& plan) {
  const auto now = Clock::now().time_since_epoch();
  const std::string text =
      std::to_string(acp_rank()) + ' ' + std::to_string(getpid()) + ' ' +
      std::to_string(
          std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()) +
      '\n';
  const int fd = open(plan.file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (write(fd, text.data(), text.size()) < 0) {
    std::perror(plan.file);
  }
  close(fd);
  if (plan.how == "exit") _exit(3);
  if (plan.how == "exit0") _exit(0);
  if (plan.how == "abort") acp_abort("the victim gives up");
  if (plan.how == "sigabrt") std::abort();
  if (plan.how == "segv") {
    std::signal(SIGSEGV, SIG_DFL);  // Sanitizers have handlers of their own.
    raise(SIGSEGV);
  }
  if (plan.how == "kill") raise(SIGKILL);
  if (plan.how == "stop") raise(SIGSTOP);
  if (plan.how == "wait") wait_for_ever();
  std::fprintf(stderr, "victim: no way to die '%s'\n", plan.how.data());
  _exit(78);
}

/// Whether a thread of this process sleeps in the kernel.
bool is_asleep(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.size() > name_end + 2 &&
         text[name_end + 2] == 'S';
}

/// Starts a thread that kills this process in the middle of a call of the
/// calling thread. It kills after the caller was seen asleep 20 times. At
/// moments without sleep it kills after the caller has completed 20 operations.
void die_from_another_thread(const Plan& plan) {
  const auto thread = static_cast<pid_t>(syscall(SYS_gettid));
  std::thread([plan, thread] {
    const Clock::time_point limit = Clock::now() + std::chrono::seconds(20);
    int seen = 0;
    while (plan.moment == "in_copy" || plan.moment == "in_malloc" ||
                   plan.moment == "in_channel" ||
                   plan.moment == "in_unregister" ||
                   is_structure_moment(plan.moment)
               ? g_copies.load() < 20
               : seen < 20) {
      seen += is_asleep(thread) ? 1 : 0;
      if (Clock::now() > limit) {
        std::fprintf(stderr, "victim: the moment '%s' did not come\n",
                     plan.moment.data());
        _exit(77);
      }
      std::this_thread::yield();
    }
    die(plan);
  }).detach();
}

/// Whether this process is the first to create a file: it becomes the victim.
/// Before acp_init there are no ranks to choose by.
bool is_elected(const char* file) {
  const std::string name = std::string(file) + ".elected";
  const int fd = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

/// Waits until the victim has written the file: it dies then.
void wait_for_death(const char* file) {
  const Clock::time_point limit = Clock::now() + std::chrono::seconds(20);
  while (std::ifstream(file).peek() == EOF && Clock::now() < limit) {
    std::this_thread::yield();
  }
}

void copy_for_ever() {
  static std::array<std::byte, 1 << 20> bytes;
  const acp_atkey_t key = acp_register_memory(bytes.data(), bytes.size(), 0);
  const acp_ga_t mine = acp_query_ga(key, bytes.data());
  const acp_ga_t target = acp_query_starter_ga(0);
  for (;;) {
    acp_copy(target + 64, mine, 10'000, ACP_HANDLE_NULL);
    acp_complete(acp_copy(mine, target + 64, 10'000, ACP_HANDLE_ALL));
    g_copies.fetch_add(1);
  }
}

/// Sends the victim atomics until it does not answer. A silent rank counts as
/// lost only while it owes an answer, so there is always an atomic under way.
void ask_the_victim() {
  acp_handle_t handle = ACP_HANDLE_NULL;
  do {
    handle = acp_add8(acp_query_starter_ga(acp_rank()),
                      acp_query_starter_ga(kVictim), 0, ACP_HANDLE_NULL);
  } while (acpx_complete_timeout(handle, -1) == 0);
}

/// Allocates and frees in the heap of rank 0, as all ranks do. The victim dies
/// between any two steps of a malloc or a free.
void allocate_for_ever() {
  std::array<acp_ga_t, 200> blocks{};
  for (std::size_t i = 0;; ++i) {
    acp_ga_t& block = blocks[i * 31 % blocks.size()];
    acp_free(block);
    block = acp_malloc(i * 97 % 3000, 0);
    g_copies.fetch_add(1);
  }
}

/// Sends messages of all sizes to the right and receives from the left, until a
/// wait fails.
void send_until_the_end() {
  const int rank = acp_rank();
  const int procs = acp_procs();
  const acp_ch_t out = acp_create_ch(rank, (rank + 1) % procs);
  const acp_ch_t in = acp_create_ch((rank + procs - 1) % procs, rank);
  static std::array<std::byte, 1 << 20> sent;
  static std::array<std::byte, 1 << 20> received;
  std::size_t got = 0;
  for (std::size_t i = 0; got != SIZE_MAX; ++i) {
    const acp_request_t request =
        acp_nbrecv_ch(in, received.data(), received.size());
    got = acp_wait_ch(acp_nbsend_ch(out, sent.data(), i * 7919 % sent.size()));
    if (got != SIZE_MAX) {
      got = acp_wait_ch(request);
    }
    g_copies.fetch_add(1);
  }
}

/// Registers and unregisters memory, and tells its address to the rank to the
/// left, which copies there whether it is still registered or not. Ends with
/// the job.
void register_until_the_end() {
  constexpr std::size_t kBytes = 3000;
  static std::array<std::byte, kBytes> bytes;
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  const acp_ga_t left =
      acp_query_starter_ga((acp_rank() + acp_procs() - 1) % acp_procs());
  auto* starter = static_cast<std::uint64_t*>(acp_query_address(mine));
  for (bool is_over = false; !is_over; g_copies.fetch_add(1)) {
    const acp_atkey_t key = acp_register_memory(bytes.data(), kBytes, 0);
    starter[16] = acp_query_ga(key, bytes.data());
    acp_complete(acp_copy(left + 256, mine + 128, 8, ACP_HANDLE_NULL));
    const std::uint64_t right = std::atomic_ref(starter[32]).load();
    if (right != ACP_GA_NULL) {
      acp_errno = 0;
      acp_complete(acp_copy(right, mine + 1024, kBytes, ACP_HANDLE_NULL));
      is_over = acp_errno != 0 && acp_errno != ACPX_BAD_KEY;
    }
    is_over = acp_unregister_memory(key) != 0 || is_over;
  }
}

/// Registers memory, tells all ranks its address, and dies once a peer has read
/// it 20 times. The peers go on to read.
void die_while_read(const Plan& plan) {
  static std::array<std::byte, kReadBytes> bytes;
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  auto* starter = static_cast<std::uint64_t*>(acp_query_address(mine));
  starter[0] = acp_query_ga(acp_register_memory(bytes.data(), bytes.size(), 0),
                            bytes.data());
  acp_sync();
  for (std::uint64_t reads = 0; reads < 20;) {
    if (acpx_wait_word(mine + 8, reads, 20'000, &reads) != 0) {
      std::fprintf(stderr, "victim: no peer reads\n");
      _exit(77);
    }
  }
  die(plan);
}

/// Reads memory of the victim and counts the reads there, until one fails.
void read_until_the_end() {
  static std::array<std::byte, kReadBytes> bytes;
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  const acp_ga_t victim = acp_query_starter_ga(kVictim);
  const acp_ga_t here = acp_query_ga(
      acp_register_memory(bytes.data(), bytes.size(), 0), bytes.data());
  acp_sync();
  acp_complete(acp_copy(mine, victim, 8, ACP_HANDLE_NULL));
  const acp_ga_t there = *static_cast<const acp_ga_t*>(acp_query_address(mine));
  acp_errno = 0;
  while (acp_errno == 0) {
    acp_complete(acp_copy(here, there, kReadBytes, ACP_HANDLE_NULL));
    acp_complete(acp_add8(mine + 8, victim + 8, 1, ACP_HANDLE_NULL));
  }
}

/// Whether the victim dies with a lock or a reservation of a data structure. It
/// takes that before a barrier, after which the other ranks need it.
bool is_after_taking(std::string_view moment) {
  return is_structure_moment(moment) && !moment.starts_with("in_");
}

/// Goes into the call that the moment names, and dies there.
void die_inside(const Plan& plan) {
  if (plan.moment == "computing") {
    die(plan);
  }
  if (plan.moment == "is_read") {
    die_while_read(plan);
  }
  if (is_after_taking(plan.moment)) {
    die_with_structure(plan.moment, [&] {
      acp_sync();
      die(plan);
    });
  }
  die_from_another_thread(plan);
  if (plan.moment == "in_sync") {
    acp_sync();
  } else if (plan.moment == "in_reset") {
    acp_reset(acp_rank());
  } else if (plan.moment == "in_finalize") {
    acp_finalize();
  } else if (plan.moment == "in_wait") {
    wait_for_ever();
  } else if (plan.moment == "in_copy") {
    copy_for_ever();
  } else if (plan.moment == "in_unregister") {
    register_until_the_end();
  } else if (plan.moment == "in_malloc") {
    allocate_for_ever();
  } else if (plan.moment == "in_channel") {
    send_until_the_end();
  } else if (is_structure_moment(plan.moment)) {
    use_structures(plan.moment, [] { g_copies.fetch_add(1); });
  } else {
    std::fprintf(stderr, "victim: no moment '%s'\n", plan.moment.data());
    _exit(78);
  }
  for (;;) {
    pause();  // The job has begun to end; the other thread is on its way.
  }
}

/// The end function of a module, which acp_finalize calls. The victim dies in
/// it when each other rank has left its own call, and waits in acp_finalize.
int die_in_fini(void* arg) {
  const acp_ga_t mine = acp_query_starter_ga(acp_rank());
  if (acp_rank() != kVictim) {
    acp_complete(acp_add8(mine + 16, acp_query_starter_ga(kVictim) + 8, 1,
                          ACP_HANDLE_NULL));
    return 0;
  }
  const auto others = static_cast<std::uint64_t>(acp_procs()) - 1;
  for (std::uint64_t count = 0; count < others;) {
    if (acpx_wait_word(mine + 8, count, 20'000, &count) != 0) {
      std::fprintf(stderr, "victim: the others do not come\n");
      _exit(77);
    }
  }
  die(*static_cast<const Plan*>(arg));
}

/// Calls acp_sync again and again while the job is being ended. All ranks but 0
/// do so, and no barrier may succeed without rank 0.
void sync_after_the_end() {
  for (int i = 0; i < 1000; ++i) {
    if (acp_sync() == 0) {
      std::printf("a barrier without rank 0\n");
      _exit(77);
    }
  }
  std::printf("no barrier\n");
  std::fflush(stdout);
}

/// Calls an acp_sync that the victim leaves out.
int sync_once_more() {
  const bool is_closed = acp_sync() == -1 && acp_errno == ACPX_CLOSED;
  const bool is_again = acpx_sync_timeout(0) == -1 && acp_errno == ACPX_CLOSED;
  return acp_finalize() == 0 && is_closed && is_again ? 0 : 1;
}

/// The victim is in `other` while the other ranks are in acp_reset. Each call
/// that meets another one fails, and every rank leaves in order.
int reset_beside(std::string_view other) {
  const bool is_victim = acp_rank() == kVictim;
  bool is_closed = true;
  if (!is_victim) {
    is_closed = acp_reset(acp_rank()) == -1 && acp_errno == ACPX_CLOSED;
  } else if (other == "sync") {
    is_closed = acp_sync() == -1 && acp_errno == ACPX_CLOSED;
  } else if (other == "sync_on") {
    while (acp_sync() == 0) {
    }
    is_closed = acp_errno == ACPX_CLOSED;
  } else if (other == "sync_reset") {
    is_closed = (acp_sync() != 0 || acp_reset(acp_rank()) != 0) &&
                acp_errno == ACPX_CLOSED;
  } else if (other == "open") {
    (void)acpx_sync_timeout(0);
    is_closed = acp_sync() == -1 && acp_errno == ACPX_CLOSED;
  }
  // A rank that has met another call stays so, whatever the others do.
  if (is_closed && other != "finalize") {
    is_closed = acp_sync() == -1 && acp_errno == ACPX_CLOSED &&
                acp_reset(acp_rank()) == -1 && acp_errno == ACPX_CLOSED;
  }
  return acp_finalize() == 0 && is_closed ? 0 : 1;
}

/// The victim begins with another call than its peers: "sync:finalize" is
/// acp_sync of the victim and acp_finalize of the peers. An acp_reset that
/// meets another call fails. An acp_sync may have met one of a module in
/// acp_finalize, or the start of an acp_reset. Then each rank leaves in order.
int begin_unlike(std::string_view calls) {
  const std::size_t colon = calls.find(':');
  const std::string_view call =
      acp_rank() == kVictim ? calls.substr(0, colon) : calls.substr(colon + 1);
  int result = -1;
  acp_errno = ACPX_CLOSED;
  if (call == "sync") {
    result = acp_sync();
  } else if (call == "reset") {
    result = acp_reset(acp_rank());
  }
  const bool is_closed = result == -1 && acp_errno == ACPX_CLOSED;
  const bool has_met = result == 0 && call == "sync";
  return acp_finalize() == 0 && (is_closed || has_met) ? 0 : 1;
}

/// Appends a line; O_APPEND keeps lines of several ranks whole.
void report_alive(const char* file) {
  const std::string text = std::to_string(getpid()) + '\n';
  const int fd = open(file, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (write(fd, text.data(), text.size()) < 0) {
    std::perror(file);
  }
  close(fd);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: victim MOMENT HOW FILE [marker]\n");
    return 2;
  }
  Plan plan{argv[1], argv[2], argv[3]};
  if (plan.moment == "before_init" && is_elected(plan.file)) {
    die(plan);
  }
  if (plan.moment == "in_init" || plan.moment == "before_others") {
    if (is_elected(plan.file)) {
      die_from_another_thread(plan);
    } else if (plan.moment == "before_others") {
      wait_for_death(plan.file);
    } else {
      for (;;) {
        pause();  // Never come to acp_init, so that the victim waits in it.
      }
    }
  }
  if (plan.moment == "modules") {
    const acpx_module_t module{"uneven", is_elected(plan.file) ? 64U : 4096U,
                               nullptr, nullptr, nullptr};
    acpx_add_module(&module);
  }
  if (plan.moment == "in_fini") {
    const acpx_module_t module{"dying", 0, nullptr, die_in_fini, &plan};
    acpx_add_module(&module);
  }
  if (acp_init(&argc, &argv) != 0) {
    return 1;
  }
  if (argc > 4 && std::string_view(argv[4]) == "met") {
    acp_sync();
  }
  if (plan.moment == "in_fini") {
    return acp_finalize() == 0 ? 0 : 1;
  }
  if (plan.moment == "out_of_step") {
    return acp_rank() == kVictim ? acp_finalize() : sync_once_more();
  }
  if (plan.moment == "others_return_0") {
    if (acp_rank() == kVictim) die(plan);
    acp_finalize();
    return 0;  // although it failed
  }
  if (plan.moment == "reset_beside") {
    return reset_beside(plan.how);
  }
  if (plan.moment == "unlike") {
    return begin_unlike(plan.how);
  }
  if (is_structure_moment(plan.moment)) {
    make_structures();
  }
  if (plan.moment == "after_end") {
    std::signal(SIGTERM, SIG_IGN);
  }
  if (plan.how == "stay") {
    report_alive(plan.file);
  } else if (acp_rank() == kVictim && plan.moment != "before_others") {
    die_inside(plan);  // at before_others the elected rank is about to die
  }
  if (plan.how == "stop") {
    ask_the_victim();
  }
  if (plan.moment == "computing" || is_after_taking(plan.moment)) {
    acp_sync();
  }
  if (plan.moment == "after_end" && acp_rank() != 0) {
    sync_after_the_end();
  }
  if (plan.moment == "in_channel") {
    send_until_the_end();  // nothing hangs: the waits fail
  }
  if (plan.moment == "is_read") {
    read_until_the_end();  // nothing hangs: a read fails
  }
  if (plan.moment == "in_unregister") {
    register_until_the_end();  // nothing hangs: waits for peers end as well
  }
  if (is_structure_moment(plan.moment)) {
    use_structures(plan.moment, [] {});  // nothing hangs: a call fails
  }
  if (plan.moment == "in_malloc") {
    // Goes on while the job ends, and then fails at once: nothing hangs.
    while (acp_malloc(100, 0) != ACP_GA_NULL || acp_errno == ACPX_NO_MEMORY) {
    }
  }
  wait_for_ever();
}
