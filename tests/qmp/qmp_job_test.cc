// How jobs of QMP begin and end, and what they print: exit codes, options,
// prefixes, time-outs. The build gives the paths of the programs (ACPRUN,
// PROBE).
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/job.h"

using namespace std::chrono_literals;

namespace {

job::Outcome run(int ranks,
                 const std::vector<std::string>& words,
                 const std::vector<std::string>& environment = {}) {
  std::vector<std::string> command{ACPRUN, "-np", std::to_string(ranks), PROBE};
  command.insert(command.end(), words.begin(), words.end());
  job::Job running(command, environment);
  job::Outcome outcome = running.wait(60s);
  REQUIRE(outcome.is_over);
  return outcome;
}

std::string host() {
  std::array<char, 256> name{};
  (void)::gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// The beginning of each line of a node.
std::string prefix(int node, int nodes) {
  return "QMP m" + std::to_string(node) + ",n" + std::to_string(nodes) + "@" +
         host();
}

std::string line(int node, int nodes, const std::string& text) {
  return prefix(node, nodes) + text + "\n";
}

bool has(const job::Outcome& outcome, const std::string& text) {
  return outcome.output.find(text) != std::string::npos;
}

/// Counts how often the output has `text`.
int count(const job::Outcome& outcome, const std::string& text) {
  int found = 0;
  for (std::size_t at = outcome.output.find(text); at != std::string::npos;
       at = outcome.output.find(text, at + text.size())) {
    ++found;
  }
  return found;
}

TEST_CASE("QMP_wait: in a communicator the peer is named by its rank",
          "[qmp]") {
  const auto outcome = run(3, {"timeout_in_part"}, {"QMP_WAIT_TIMEOUT=2"});
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(has(outcome,
            "receive of 4 bytes with rank 2 of the job did not end within"));
}

TEST_CASE("QMP_declare_logical_topology_map: a wrong map is named", "[qmp]") {
  const auto outcome = run(2, {"bad_map"});
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(has(outcome,
            "QMP_declare_logical_topology_map: the map 2 (an argument, or "
            "-qmp-logic-map); each number in it has to name another one of the "
            "1 axes, from 0"));
}

TEST_CASE("wrong arguments: the line has the function, the argument, the rule",
          "[qmp]") {
  const auto outcome = run(2, {"wrong_arguments"});
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK_FALSE(has(outcome, "probe:"));
  for (const char* text : {
           "QMP_sum_float_array: length is -1; it has to be 0 or more",
           "QMP_comm_sum_int: the communicator is NULL",
           "QMP_sum_double_extended: value is NULL",
           "QMP_broadcast: buffer is NULL",
           "QMP_binary_reduction: bfunc is NULL",
           "QMP_comm_declare_logical_topology: dims is NULL",
           "QMP_declare_logical_topology: ndim is 0; it has to be 1 or more",
           "QMP_declare_logical_topology_map: mapdim is -1; it has to be 0 or "
           "more",
           "QMP_declare_logical_topology: this communicator has the logical "
           "topology 2 already; it is declared once",
           "QMP_layout_grid: the lattice has 2 dimensions, the declared "
           "topology has 1; both have to have as many",
           "QMP_layout_grid: axis 1 of the lattice has 0 sites; each has to "
           "have 1 or more",
           "QMP_layout_grid: a lattice of 3 cannot be divided equally among 2 "
           "nodes in a grid of 2: take another number of nodes",
           "QMP_get_logical_coordinates_from2: node 2; nodes are 0 to 1",
           "QMP_declare_send_to: node 2; nodes are 0 to 1",
           "QMP_comm_declare_receive_from: the message memory is NULL",
           "QMP_declare_send_relative along axis 0: dir is 2; it has to be 1 "
           "or -1",
           "QMP_declare_receive_relative: axis 1; axes are 0 to 0",
           "QMP_declare_send_recv_pairs: num is -1; it has to be 0 or more",
           "QMP_declare_multiple: msgh is NULL, and num is 2",
           "QMP_declare_strided_msgmem: nblocks is -1; it has to be 0 or more",
           "QMP_declare_strided_array_msgmem: base[1] is NULL, for 2 blocks of "
           "4 bytes",
           "QMP_declare_indexed_msgmem: elemsize is -4; it has to be 0 or more",
           "QMP_declare_indexed_msgmem: index is NULL, and count is 1",
           "QMP_change_address_multiple: the handle is NULL",
           "QMP_change_address: addresses given: 1, transfers of the handle: "
           "0; give one for each transfer, by QMP_change_address_multiple",
           "QMP_clear_to_send: the value is -2; it has to be "
           "QMP_CTS_DISABLED, QMP_CTS_NOT_READY or QMP_CTS_READY",
           "QMP_wait_all: handle 0 of 0 to 0 is NULL; declare it first",
           "QMP_comm_set_default: the communicator is NULL",
           "QMP_comm_free: this communicator is QMP's own",
       }) {
    INFO(text);
    CHECK(has(outcome, std::string(" error: ") + text));
  }
}

TEST_CASE("QMP_layout_grid: a lattice that is too large is not called uneven",
          "[qmp]") {
  const auto outcome = run(2, {"large_lattice"});
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(has(outcome,
            " error: QMP_layout_grid: a lattice of 65536 65536 has more than "
            "2147483647 sites for each of 2 nodes: take more nodes"));
}

}  // namespace

TEST_CASE("QMP_abort: its code is the job's exit status", "[qmp]") {
  for (const int code : {1, 3, 77, 255}) {
    const auto outcome = run(3, {"abort", std::to_string(code)});
    INFO(outcome.output);
    CHECK(outcome.status == code);
    CHECK(has(outcome, line(1, 3, " error: abort: " + std::to_string(code))));
  }
  const auto zero = run(2, {"abort", "0"});
  INFO(zero.output);
  CHECK(zero.status == 1);
}

TEST_CASE("ACP_ERRORS: what follows an error of QMP", "[qmp]") {
  const auto reported = run(2, {"careless"}, {"ACP_ERRORS=report"});
  INFO(reported.output);
  CHECK(reported.status == 0);
  CHECK(has(reported, "went on"));
  const auto aborted = run(2, {"careless"}, {"ACP_ERRORS=abort"});
  INFO(aborted.output);
  CHECK(aborted.status == 1);
  CHECK_FALSE(has(aborted, "went on"));
  CHECK(has(aborted, "QMP_change_address"));
  // Before QMP_init_msg_passing the environment has the setting.
  const auto went_on = run(2, {"early"}, {"ACP_ERRORS=report"});
  CHECK(went_on.status == 0);
  CHECK(has(went_on, "went on"));
  const auto early = run(2, {"early"}, {"ACP_ERRORS=abort"});
  INFO(early.output);
  CHECK(early.status == 1);
  CHECK_FALSE(has(early, "went on"));
}

TEST_CASE("fork: a child is refused, and its exit ends nothing", "[qmp]") {
  for (const std::string net : {"auto", "udp"}) {
    // LeakSanitizer looks for the parent's threads in the child, and may wait
    // for them for ever.
    const auto outcome =
        run(2, {"fork"}, {"ACP_NET=" + net, "ASAN_OPTIONS=detect_leaks=0"});
    INFO(outcome.output);
    CHECK(outcome.status == 0);
    CHECK_FALSE(has(outcome, "probe:"));
    CHECK(has(outcome, "QMP_barrier: refused in a child made by fork()"));
  }
}

TEST_CASE("death: a sum that waits for the dead ends with the job", "[qmp]") {
  for (const std::string net : {"auto", "udp"}) {
    const auto outcome = run(4, {"die"}, {"ACP_NET=" + net});
    INFO(outcome.output);
    CHECK(outcome.status == 128 + SIGKILL);
    CHECK_FALSE(has(outcome, "probe:"));
  }
}

TEST_CASE("death: a wait for the dead names the message", "[qmp]") {
  for (const std::string net : {"auto", "udp"}) {
    const std::string marker = job::unique_marker();
    const auto outcome = run(2, {"wait_for_dead", marker}, {"ACP_NET=" + net});
    INFO(outcome.output);
    CHECK(outcome.status == 128 + SIGKILL);
    CHECK(has(outcome, prefix(0, 2) +
                           " error: QMP_wait: receive of 1000 bytes with node "
                           "1 has failed: "));
    CHECK_FALSE(has(outcome, "probe:"));
    CHECK(job::all_gone(marker, 6s));
  }
}

TEST_CASE("QMP_abort_string: says why", "[qmp]") {
  const auto outcome = run(1, {"abort_string"});
  INFO(outcome.output);
  CHECK(outcome.status == 7);
  CHECK(has(outcome, "abort: 7: lattice on fire\n"));
}

TEST_CASE("settings: node 0 warns of a QMP_ variable that is none", "[qmp]") {
  const auto outcome = run(3, {"nothing"}, {"QMP_WAIT_TIMOUT=5"});
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(has(outcome,
            prefix(0, 3) + ": warning: QMP_WAIT_TIMOUT is no setting of QMP"));
  CHECK(count(outcome, "is no setting of QMP") == 1);
}

TEST_CASE("exit(0) without finalize: the job succeeds", "[qmp]") {
  for (const int ranks : {1, 2, 4}) {
    const auto outcome = run(ranks, {"nothing"});
    INFO(outcome.output);
    CHECK(outcome.status == 0);
    CHECK(outcome.output.empty());
  }
}

TEST_CASE("exit(0) without finalize: a large message still goes out", "[qmp]") {
  for (const std::string net : {"auto", "udp"}) {
    const auto outcome = run(2, {"send_at_exit"}, {"ACP_NET=" + net});
    INFO(outcome.output);
    CHECK(outcome.status == 0);
    CHECK(outcome.output.empty());
  }
}

TEST_CASE("exit(0) of one node: a barrier of the others is none", "[qmp]") {
  for (const int nodes : {2, 3, 8}) {
    for (const std::string net : {"auto", "udp"}) {
      const auto outcome = run(nodes, {"be_left"}, {"ACP_NET=" + net});
      INFO(outcome.output);
      CHECK(outcome.status == 0);
      CHECK_FALSE(has(outcome, "unnoticed"));
      CHECK(has(outcome,
                line(0, nodes,
                     " error: QMP_barrier: rank " + std::to_string(nodes - 1) +
                         " has left by exit(0) or "
                         "QMP_finalize_msg_passing: all nodes have to "
                         "call it")));
      CHECK(has(outcome, "is in acp_finalize after"));
    }
  }
}

TEST_CASE("exit(0) of one node: messages with it fail at once", "[qmp]") {
  const std::string net = GENERATE("auto", "udp");
  for (const int nodes : {2, 4}) {
    for (const std::string mode :
         {"be_left_in_messages", "be_left_after_barriers"}) {
      const auto outcome = run(nodes, {mode}, {"ACP_NET=" + net});
      INFO(net << ", " << mode << ", " << nodes << " nodes\n"
               << outcome.output);
      CHECK(outcome.status == 0);
      CHECK_FALSE(has(outcome, "probe:"));
    }
  }
}

TEST_CASE("calls before init and after finalize fail, and do not crash",
          "[qmp]") {
  for (const int ranks : {1, 3}) {
    const auto outcome = run(ranks, {"outside"});
    INFO(outcome.output);
    CHECK(outcome.status == 0);
    CHECK(has(outcome, line(ranks - 1, ranks, ": before init")));
    CHECK(has(outcome, line(ranks - 1, ranks,
                            " error: QMP_layout_grid: called after "
                            "QMP_finalize_msg_passing")));
  }
}

TEST_CASE("QMP_init_msg_passing after acp_init says to leave that out",
          "[qmp]") {
  const auto outcome = run(2, {"after_acp_init"});
  INFO(outcome.output);
  CHECK(outcome.status == 77);
  CHECK(has(outcome, "QMP_init_msg_passing: has to be called before acp_init"));
  CHECK(has(outcome, line(1, 2,
                          " error: cannot join the job: leave acp_init out, "
                          "QMP_init_msg_passing calls it")));
}

TEST_CASE("node 0 warns of options that have no effect", "[qmp]") {
  const auto outcome =
      run(2, {"machine", "-qmp-gom", "2", "-qmp-alloc-map", "5"});
  INFO(outcome.output);
  CHECK(has(outcome, prefix(0, 2) +
                         ": warning: -qmp-gom is no option of QMP, which has "
                         "-qmp-geom, "));
  CHECK(has(outcome, prefix(0, 2) +
                         ": warning: -qmp-alloc-map 5 has no effect without "
                         "-qmp-geom"));
  CHECK_FALSE(has(outcome, prefix(1, 2) + ": warning"));
}

TEST_CASE("QMP_LAYOUT: the least surface, or the published division", "[qmp]") {
  const auto least = run(4, {"layout"});
  INFO(least.output);
  CHECK(has(least, line(3, 4, ": divided 4 1")));
  const auto published = run(4, {"layout"}, {"QMP_LAYOUT=published"});
  INFO(published.output);
  CHECK(has(published, line(3, 4, ": divided 2 2")));
  const auto wrong = run(1, {"layout"}, {"QMP_LAYOUT=best"});
  INFO(wrong.output);
  CHECK(wrong.status == 77);
  CHECK(has(wrong, "QMP_LAYOUT=best: expected 'surface'"));
}

TEST_CASE("qmp.hpp: objects that outlive finalize end silently", "[qmp]") {
  for (const std::string mode : {"outlive", "outlive_finalize"}) {
    const auto outcome = run(2, {mode});
    INFO(outcome.output);
    CHECK(outcome.status == 0);
    CHECK(outcome.output.empty());
  }
}

TEST_CASE("finalize: with messages on their way that nobody receives",
          "[qmp]") {
  for (const std::string net : {"auto", "udp"}) {
    const auto outcome = run(3, {"leave"}, {"ACP_NET=" + net});
    INFO(outcome.output);
    CHECK(outcome.status == 0);
    CHECK(outcome.output.empty());
  }
}

TEST_CASE("QMP_printf and its relatives: prefix and newline", "[qmp]") {
  const auto outcome = run(2, {"print"});
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  for (const int node : {0, 1}) {
    CHECK(has(outcome, line(node, 2, ": number 5")));
    CHECK(has(outcome, line(node, 2, ": to a stream")));
    CHECK(has(outcome, line(node, 2, " info: known")));
    CHECK(has(outcome, line(node, 2, " error: bad")));
  }
}

TEST_CASE("the word -qmp-geom: the machine is a grid", "[qmp]") {
  const auto outcome = run(6, {"machine", "-qmp-geom", "2", "3"});
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(has(outcome, line(3, 6, ": type 1 nodes 6 node 3 jobs 1 job 0")));
  CHECK(has(outcome, line(3, 6, ": dims 2 3")));
  CHECK(has(outcome, line(3, 6, ": at 1 1")));
  CHECK(has(outcome, line(3, 6, ": logical 1 1")));
  CHECK(has(outcome, line(3, 6, ": from 2 sum 6")));
}

TEST_CASE("the word -qmp-alloc-map: the order of the axes in node numbers",
          "[qmp]") {
  const auto outcome =
      run(6, {"machine", "-qmp-geom", "2", "3", "-qmp-alloc-map", "1", "0"});
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(has(outcome, line(1, 6, ": at 0 1")));
  CHECK(has(outcome, line(1, 6, ": from 4 sum 6")));
}

TEST_CASE("QMP_GEOM: as -qmp-geom", "[qmp]") {
  const auto outcome = run(2, {"machine"}, {"QMP_GEOM=1 2"});
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(has(outcome, line(1, 2, ": dims 1 2")));
  const auto wrong = run(2, {"machine"}, {"QMP_GEOM=3 2"});
  INFO(wrong.output);
  CHECK(wrong.status != 0);
  // The first node that refuses may end the job before the other writes.
  const auto refuses = [](const job::Outcome& end, const std::string& why) {
    return has(end, line(0, 2, why)) || has(end, line(1, 2, why));
  };
  CHECK(refuses(wrong,
                " error: QMP_GEOM 3 2: the sizes must have the product 2, the "
                "number of nodes"));
  CHECK_FALSE(has(wrong, "acp_procs"));
  const auto product = run(2, {"machine"}, {"QMP_GEOM=1x2"});
  INFO(product.output);
  CHECK(refuses(product,
                " error: QMP_GEOM=1x2: '1x2' is no number; give the sizes like "
                "\"2 2\""));
  CHECK(has(outcome, line(1, 2,
                          ": joined job 0 of 1, machine 1 2; QMP_WAIT_TIMEOUT "
                          "600 s")));
  CHECK(has(outcome, line(0, 2, ": leaves")));
}

TEST_CASE("the word -qmp-job: splits the machine into jobs that do not meet",
          "[qmp]") {
  const auto grid =
      run(8, {"machine", "-qmp-geom", "4", "2", "-qmp-job", "2", "1"});
  INFO(grid.output);
  CHECK(grid.status == 0);
  CHECK(has(grid, line(3, 4, ": type 1 nodes 4 node 3 jobs 2 job 1")));
  CHECK(has(grid, line(3, 4, ": dims 2 2")));
  CHECK(has(grid, line(3, 4, ": from 2 sum 4")));
  const auto plain = run(6, {"machine", "-qmp-job", "3"});
  INFO(plain.output);
  CHECK(plain.status == 0);
  CHECK(has(plain, line(1, 2, ": type 0 nodes 2 node 1 jobs 3 job 2")));
  CHECK(has(plain, line(1, 2, ": from -1 sum 2")));
}

TEST_CASE("init: words without sense are refused on every node", "[qmp]") {
  const std::vector<std::vector<std::string>> all{
      {"-qmp-geom"},      {"-qmp-geom", "2x"},
      {"-qmp-geom", "3"}, {"-qmp-geom", "2", "-qmp-alloc-map", "1"},
      {"-qmp-job", "3"},  {"-qmp-geom", "2", "-qmp-job", "1", "1"}};
  for (std::vector<std::string> words : all) {
    words.insert(words.begin(), "machine");
    const auto outcome = run(2, words);
    INFO(outcome.output);
    CHECK(outcome.status == 77);
  }
  CHECK(run(1, {"machine"}, {"QMP_WAIT_TIMEOUT=soon"}).status == 77);
  CHECK(run(1, {"machine"}, {"QMP_WAIT_TIMEOUT=5M"}).status == 77);
}

TEST_CASE("QMP_MEMORY: a number of bytes, or of K, M, G or T", "[qmp]") {
  for (const char* memory : {"1048576", "1024K", "20m", "0.03125G"}) {
    INFO(memory);
    CHECK(run(1, {"machine"}, {"QMP_MEMORY=" + std::string(memory)}).status ==
          0);
  }
  // Values that are too small, too large, or no numbers.
  for (const char* memory : {"1", "1023K", "1G", "2048T", "M", "20X", "20MM"}) {
    INFO(memory);
    CHECK(run(1, {"machine"}, {"QMP_MEMORY=" + std::string(memory)}).status ==
          77);
  }
  CHECK(run(1, {"machine"}, {"QMP_MEMORY=1G", "ACP_MODULE_MEMORY=2G"}).status ==
        0);
}

TEST_CASE(
    "global operations have no time limit, and say once for whom they "
    "wait",
    "[qmp]") {
  const std::string net = GENERATE("auto", "udp");
  const std::string what =
      GENERATE("barrier", "sum", "long_sum", "broadcast", "alltoall");
  constexpr int kNodes = 3;
  const auto outcome =
      run(kNodes, {"late", job::scratch_file("qmp_late"), what},
          {"QMP_WAIT_TIMEOUT=0.05", "ACP_NET=" + net});
  INFO(net << ", " << what << "\n" << outcome.output);
  CHECK(outcome.status == 0);
  const std::string said =
      " has waited 0.05 s for node 0 (rank 0, host " + host() + "): ";
  for (int node = 1; node < kNodes; ++node) {
    const std::string start = prefix(node, kNodes) + " error: ";
    CHECK(count(outcome, start) >= 1);
  }
  // Later operations may wait long as well, where the machine is slow.
  CHECK(count(outcome, said) >= kNodes - 1);
  if (what != "barrier") {
    CHECK(count(outcome, "(operation 1)" + said) == kNodes - 1);
  }
  CHECK(has(outcome, what == "barrier"     ? "QMP_comm_barrier has waited"
                     : what == "broadcast" ? "QMP_comm_broadcast, 4 bytes"
                     : what == "alltoall"  ? "QMP_comm_alltoall, 4 bytes"
                                           : "QMP_comm_sum_double_array, "));
}

// A broadcast does not wait for nodes other than its root.
TEST_CASE("QMP_barrier beside another operation: all nodes fail, and name both",
          "[qmp]") {
  const std::string net = GENERATE("auto", "udp");
  const std::string what = GENERATE("sum", "long_sum", "alltoall", "broadcast");
  for (const int nodes : {2, 5}) {
    for (const int odd : {0, nodes - 1}) {
      if (what == "broadcast" && odd != 0) continue;
      const auto outcome =
          run(nodes, {"meet_another", what, std::to_string(odd)},
              {"ACP_NET=" + net, "QMP_WAIT_TIMEOUT=30"});
      INFO(net << ", " << what << ", " << odd << " of " << nodes << "\n"
               << outcome.output);
      CHECK(outcome.status == 0);
      CHECK(count(outcome, " met ") == nodes);
      CHECK(count(outcome, "node " + std::to_string(odd) + " (rank " +
                               std::to_string(odd) + ")") >= nodes - 1);
    }
  }
}

TEST_CASE("QMP_WAIT_TIMEOUT=0: no wait has a time limit", "[qmp]") {
  const auto outcome = run(2, {"wait_for_ever"}, {"QMP_WAIT_TIMEOUT=0"});
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(outcome.output.empty());
}

TEST_CASE("exit(0) of one node: global operations fail on all others",
          "[qmp]") {
  const std::string net = GENERATE("auto", "udp");
  for (const int nodes : {2, 3, 7}) {
    const auto outcome =
        run(nodes, {"be_left_by_the_root"}, {"ACP_NET=" + net});
    INFO(net << ", " << nodes << " nodes\n" << outcome.output);
    CHECK(outcome.status == 0);
    CHECK(has(outcome, "(rank " + std::to_string(nodes - 1) +
                           ") has left by exit(0) or "
                           "QMP_finalize_msg_passing"));
    // Nodes that are told of it say as much: two lines each.
    CHECK(count(outcome, "has left by exit(0)") >= 2 * (nodes - 1));
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Sanitizers need more address space than the test leaves.
TEST_CASE("a sum for which one node lacks memory fails on all", "[qmp]") {
  for (const std::string net : {"auto", "udp"}) {
    const auto outcome = run(3, {"lack_memory"}, {"ACP_NET=" + net});
    INFO(net << "\n" << outcome.output);
    CHECK(outcome.status == 0);
    CHECK(has(outcome, "no memory for its operands"));
  }
}
#endif

TEST_CASE("QMP_wait: what cannot end is QMP_TIMEOUT, with peer and size",
          "[qmp]") {
  for (const std::string net : {"auto", "udp"}) {
    for (const std::string bytes : {"100", "9000"}) {
      const auto outcome = run(2, {"timeout", bytes},
                               {"QMP_WAIT_TIMEOUT=0.2", "ACP_NET=" + net});
      INFO(outcome.output);
      CHECK(outcome.status == 0);
      CHECK(has(outcome, "receive of " + bytes +
                             " bytes with node 1 did not end within 0.2 s"));
    }
  }
}
