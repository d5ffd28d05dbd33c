// The choice of networks, by random proposals of random hosts.
#include "runtime/proposals.h"

#include <random>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

namespace acp::runtime {

namespace {

/// The proposal of one process, and the host that it runs on.
struct Process {
  std::uint32_t host = 0;
  Proposal proposal = kNoRdma;
};

ProposalReview review_of(const std::vector<Process>& processes,
                         std::size_t me) {
  ProposalReview review(processes[me].proposal);
  for (std::uint32_t proc = 0; proc < processes.size(); ++proc) {
    review.add(proc, processes[proc].proposal,
               processes[proc].host == processes[me].host);
  }
  return review;
}

/// Whether `me` reaches `peer`, of another host, by RDMA devices.
bool takes_rdma(const std::vector<Process>& processes,
                std::size_t me,
                std::size_t peer) {
  switch (review_of(processes, me).use()) {
    case NetworkUse::kAlike: return processes[me].proposal != kNoRdma;
    case NetworkUse::kBoth:
      return processes[me].proposal == processes[peer].proposal;
    default: return false;
  }
}

std::vector<Process> random_processes(std::mt19937& random) {
  const Proposal choices[] = {kNoRdma, propose_fabric("one"),
                              propose_fabric("two")};
  std::vector<Process> processes(2 + random() % 7);
  const std::size_t fabrics = 1 + random() % 3;
  for (Process& process : processes) {
    process.host = static_cast<std::uint32_t>(random() % 4);
    process.proposal = choices[random() % fabrics];
  }
  return processes;
}

}  // namespace

TEST_CASE("proposals: of a job of one host, with the name inside",
          "[runtime][proposals]") {
  const std::string_view networks = "auto|shm|udp|ib|ucx";
  const Proposal chosen = propose_on_host("auto", true);
  const Proposal udp = propose_on_host("udp", false);
  CHECK(fit_on_host(chosen, propose_on_host("shm", true)));
  CHECK(fit_on_host(udp, udp));
  CHECK_FALSE(fit_on_host(chosen, udp));
  CHECK_FALSE(fit_on_host(udp, chosen));
  CHECK_FALSE(fit_on_host(udp, propose_on_host("ucx", false)));
  CHECK_FALSE(fit_on_host(chosen, propose_on_host("auto", false)));
  for (const std::string_view name : {"auto", "shm", "udp", "ib", "ucx"}) {
    CHECK(network_of(propose_on_host(name, true), networks) == name);
    CHECK(network_of(propose_on_host(name, false), networks) == name);
  }
  CHECK(network_of(udp, "auto|shm").empty());
}

TEST_CASE("network choice: two hosts take RDMA where their fabrics are equal",
          "[runtime][network]") {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    const std::vector<Process> processes = random_processes(random);
    for (std::size_t one = 0; one < processes.size(); ++one) {
      for (std::size_t other = 0; other < processes.size(); ++other) {
        if (processes[one].host == processes[other].host) {
          continue;
        }
        const bool do_share =
            processes[one].proposal != kNoRdma &&
            processes[one].proposal == processes[other].proposal;
        REQUIRE(takes_rdma(processes, one, other) == do_share);
        REQUIRE(takes_rdma(processes, other, one) == do_share);
      }
    }
  }
}

TEST_CASE("network choice: a job on one fabric has one network",
          "[runtime][network]") {
  const Proposal fabric = propose_fabric("one");
  CHECK(review_of({{0, fabric}, {1, fabric}}, 0).use() == NetworkUse::kAlike);
  CHECK(review_of({{0, kNoRdma}, {1, kNoRdma}}, 1).use() == NetworkUse::kAlike);
}

TEST_CASE("network choice: a fabric of one host alone is left out",
          "[runtime][network]") {
  const Proposal fabric = propose_fabric("one");
  const std::vector<Process> processes = {
      {0, fabric}, {0, fabric}, {1, kNoRdma}};
  CHECK(review_of(processes, 0).use() == NetworkUse::kUdp);
  CHECK(review_of(processes, 0).other() == 2);
  CHECK(review_of(processes, 2).use() == NetworkUse::kUdp);
  CHECK(review_of(processes, 2).other() == 0);
}

TEST_CASE("network choice: a named network is refused beside another",
          "[runtime][network]") {
  const Proposal udp = propose_named("udp");
  CHECK(review_of({{0, udp}, {1, udp}}, 0).use() == NetworkUse::kAlike);
  const std::vector<Process> processes = {
      {0, kNoRdma}, {1, udp}, {2, propose_fabric("udp")}};
  for (std::size_t proc = 0; proc < processes.size(); ++proc) {
    CHECK(review_of(processes, proc).use() == NetworkUse::kRefused);
  }
}

}  // namespace acp::runtime
