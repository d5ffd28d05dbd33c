// The rows of the settings' table. Settings reads it in every process, and
// acp_info and the manuals print it. A new setting is one row here and one name
// in SettingId, in equal order. A row may not read the environment or depend on
// the machine.
#include "settings/settings.h"

namespace acp {

namespace {

/// "auto|shm|udp|ib...": every network that a program may name, built in or
/// not. So the error about one that is missing can say what it is.
constexpr std::string_view kNetChoices = "auto|shm"
#define ACP_NETWORK(folder, name, ...) "|" name
#define ACP_MODULE_NETWORK(folder, name, ...) "|" name
#define ACP_MISSING_NETWORK(name) "|" name
#include "settings/networks.def"
#undef ACP_NETWORK
#undef ACP_MODULE_NETWORK
#undef ACP_MISSING_NETWORK
    ;

constexpr std::array<Setting, static_cast<std::size_t>(SettingId::kCount)>
    kTable = {{
        {"ACP_NET", "--acp-envnet", SettingKind::kChoice, "auto", kNetChoices,
         0, 0,
         "Network between ranks: auto takes shared memory inside a host, and "
         "between two hosts RDMA devices where both have one on the same "
         "network, else udp; ib (or verbs) takes shared memory and RDMA "
         "devices, ucx shared memory and UCX; shm takes shared memory and, "
         "between hosts, udp; udp takes udp everywhere."},
        {"ACP_SHM", "", SettingKind::kChoice, "auto", "auto|off", 0, 0,
         "Shared memory between ranks of one host: off takes the network also "
         "there, as ACP_NET=udp does anyway."},
        {"ACP_STARTER_MEMORY", "--acp-startermemsize", SettingKind::kBytes,
         "10240", "", 0, std::uint64_t{1} << 33,
         "Bytes of starter memory of each rank."},
        {"ACP_HEAP_SIZE", "--acp-heapsize", SettingKind::kBytes, "1G", "",
         std::uint64_t{256} << 10, std::uint64_t{1} << 40,
         "Bytes of address space for each rank's heap, which acp_malloc "
         "allocates from; memory is taken when it is first touched."},
        {"ACP_MALLOC_CACHE", "", SettingKind::kChoice, "auto", "auto|on|off", 0,
         0,
         "Whether a rank keeps free blocks of the heaps it uses at hand: auto "
         "does when an eighth of a heap gives each rank 64 KiB; off takes the "
         "least memory, and each acp_malloc asks the heap."},
        {"ACP_MALLOC_DEBUG", "", SettingKind::kChoice, "off", "off|on", 0, 0,
         "Whether acp_free reports what is no live block and what was "
         "overrun, and acp_finalize lists what was never freed."},
        {"ACP_CH_BUFFER", "", SettingKind::kBytes, "64K", "",
         std::uint64_t{4} << 10, std::uint64_t{1} << 30,
         "Bytes that the receiver of a channel sets aside for messages that "
         "it has not yet asked for."},
        {"ACP_MODULE_MEMORY", "", SettingKind::kBytes, "64M", "", 0,
         std::uint64_t{1} << 33,
         "Bytes of address space that each rank sets aside for the modules "
         "of the program; memory is taken when it is first touched."},
        {"ACP_MODULE_PATH", "", SettingKind::kText, "", "", 0, 0,
         "Folders, separated by colons, in which libacp-verbs.so and other "
         "modules are looked for before the folder of libacp."},
        {"ACP_UDP_INTERFACES", "", SettingKind::kText, "", "", 0, 0,
         "Interfaces for udp, separated by commas, one color each: names "
         "(eth0), addresses (10.1.0.7) or subnets (10.1.0.0/16, fd00::/8). "
         "Empty: 127.0.0.1, or the interface that routes to the other hosts."},
        {"ACP_UDP_SECURITY", "", SettingKind::kChoice, "auto",
         "auto|auth|encrypt|off|insecure", 0, 0,
         "Protection of udp packets: auth refuses what no rank of the job has "
         "sent, encrypt also hides the payload, off trusts everybody on the "
         "loopback interface, insecure everybody on the network; auto is off "
         "on "
         "loopback and auth elsewhere."},
        {"ACP_UDP_TAGS", "", SettingKind::kChoice, "auto",
         "auto|libsodium|ipsec-mb", 0, 0,
         "Library that makes and checks the tags of udp packets, and encrypts "
         "them: auto takes intel-ipsec-mb where this host has the package "
         "acp-ipsec-mb and AES instructions, and libsodium elsewhere. Both "
         "make equal packets."},
        {"ACP_UDP_DATAGRAM", "", SettingKind::kBytes, "0", "", 0, 65000,
         "Largest UDP payload in bytes, 576 or more; 0 takes what suits the "
         "interface."},
        {"ACP_UDP_WINDOW", "", SettingKind::kBytes, "0", "", 0,
         std::uint64_t{64} << 20,
         "Bytes that udp may have under way to each peer; 0 finds what the "
         "path holds without a queue. For paths of known capacity."},
        {"ACP_UDP_SILENCE", "", SettingKind::kNumber, "10", "", 0, 86'400,
         "Seconds without an answer after which udp takes a process for lost, "
         "or without a heartbeat after which the ranks of its host do, and the "
         "job ends; 0 waits for ever, for work with a debugger."},
        {"ACP_UDP_FAULTS", "", SettingKind::kText, "", "", 0, 0,
         "For tests: faults put into arriving udp packets, and the path that "
         "they take to each rank, e.g. "
         "loss=0.05,duplicate=0.02,reorder=0.05,corrupt=0.01,seed=7,delay=2ms,"
         "jitter=500us,rate=20M,queue=1M."},
        {"ACP_STATS", "", SettingKind::kText, "", "", 0, 0,
         "File for the statistics of udp, one for each rank: its number at "
         "launch is appended, as in FILE.3. Written in acp_finalize, and when "
         "a "
         "peer is lost. Empty: none."},
        {"ACP_COUNTERS", "", SettingKind::kNumber, "0", "", 0, 1,
         "Whether ranks count what they move to each peer and how long they "
         "wait in each call, for acprun --stats, which sets it to 1."},
        {"ACP_VERBS_DEVICES", "", SettingKind::kText, "", "", 0, 0,
         "RDMA devices for ib, separated by commas, one color each: mlx5_0; "
         "with a port: mlx5_1:2; by an interface, an address or a subnet of "
         "the port: mlx5_2@eth2.100. Empty: all that can be used."},
        {"ACP_VERBS_RAILS", "", SettingKind::kChoice, "near", "near|local|name",
         0, 0,
         "In which order a rank takes the RDMA devices that ACP_VERBS_DEVICES "
         "does not name: near takes those at the NUMA node of its cores first, "
         "local also begins at another one for each rank of a host, name goes "
         "by name. Only devices in one IP subnet change places."},
        {"ACP_VERBS_ATOMICS", "", SettingKind::kChoice, "auto",
         "auto|agent|device", 0, 0,
         "Who executes atomics of 8 bytes over ib: the CPU of the memory's "
         "owner (agent), or its first RDMA device, which asks nobody there but "
         "is then between ranks of one host, too (device; all ranks). auto "
         "lets devices take part in the first way where their atomics agree "
         "with the CPU's."},
        {"ACP_VERBS_WRITES", "", SettingKind::kChoice, "ordered",
         "ordered|unordered|relaxed", 0, 0,
         "Whether writes of one RDMA connection reach the target's memory in "
         "their order (ordered), as InfiniBand demands. unordered: on networks "
         "or hosts that change the order, puts end with a read that proves "
         "them, and nothing follows them before; relaxed: memory is also "
         "registered for relaxed ordering. The same for all ranks."},
        {"ACP_VERBS_ACK_TIMEOUT", "", SettingKind::kNumber, "1000", "", 1,
         60'000,
         "Milliseconds after which an RDMA device repeats what the other side "
         "has not acknowledged; rounded up to 4.096 microseconds times a power "
         "of two. A lost packet costs that much; a rank whose host is gone is "
         "noticed after ACP_VERBS_RETRIES + 1 times as much."},
        {"ACP_VERBS_RETRIES", "", SettingKind::kNumber, "6", "", 0, 7,
         "How often an RDMA device repeats what is not acknowledged before the "
         "connection fails and the job ends; rxe takes 7 for ever."},
        {"ACP_VERBS_RNR_TIMER", "", SettingKind::kNumber, "640", "", 10,
         655'360,
         "Microseconds after which an RDMA device repeats a message for which "
         "this rank had no receive buffer, as often as it takes; rounded up to "
         "a value of the InfiniBand specification. Matters with more than "
         "4032 connections on a device."},
        {"ACP_VERBS_TRAFFIC_CLASS", "", SettingKind::kNumber, "0", "", 0, 255,
         "Traffic class of RDMA packets, the IP type of service over RoCE: 4 "
         "times the DSCP of the lossless class that the switches have. 0: what "
         "the host's administrator has set for connections."},
        {"ACP_UCX_DEVICES", "", SettingKind::kText, "", "", 0, 0,
         "Devices for ucx, one color for each list: lists as in "
         "UCX_NET_DEVICES "
         "(mlx5_0:1,mlx5_1:1), separated by semicolons. Empty: one color, with "
         "what UCX_NET_DEVICES and UCX_TLS let UCX choose."},
        {"ACP_UCX_ATOMICS", "", SettingKind::kChoice, "cpu", "cpu|device", 0, 0,
         "Who executes atomics over ucx: CPUs, or RDMA devices, whose atomics "
         "of 8 bytes then go by ucx between ranks of one host, too; the same "
         "for all ranks."},
        {"ACP_ADDRESSES", "", SettingKind::kChoice, "auto", "auto|all|fetch", 0,
         0,
         "When a host gets the network addresses of ranks on other hosts under "
         "acprun: all at the start, or fetch each when a rank needs it first; "
         "auto fetches where all would take more than 16 MiB of a host."},
        {"ACP_ATOMICS", "", SettingKind::kChoice, "cpu", "cpu|agent", 0, 0,
         "For tests, with ACP_NET=udp: with agent, only the agent of the "
         "memory's owner executes atomics, also on its own rank's memory, and "
         "as a network adapter does: not atomic with those of a CPU."},
        {"ACP_CMA", "", SettingKind::kChoice, "auto", "auto|off", 0, 0,
         "Copies between registered memories on one host by "
         "process_vm_readv and writev: auto probes it, off goes through the "
         "owner's progress thread."},
        {"ACP_WAIT", "", SettingKind::kChoice, "auto", "auto|spin|yield|sleep",
         0, 0,
         "How a rank waits: auto spins for 50 us, or up to 1 ms after short "
         "sleeps, and then sleeps; it yields its core between looks after 50 "
         "us, or at once where ranks share cores. spin and yield never "
         "sleep, and spin yields only in acp_sync and for locks; sleep sleeps "
         "at once."},
        {"ACP_LOG", "", SettingKind::kChoice, "warning",
         "error|warning|info|debug|trace", 0, 0, "What is written to stderr."},
        {"ACP_ERRORS", "", SettingKind::kChoice, "report", "report|abort|fail",
         0, 0,
         "What follows an error: report writes a line and lets the call return "
         "its failure value; abort writes the line and where the call stands "
         "in the program, and ends the job; fail does as report does, and "
         "acprun ends with 1 and not with 0."},
        {"ACP_STDOUT", "", SettingKind::kChoice, "line", "line|program", 0, 0,
         "How the standard output of a rank is buffered: line writes each line "
         "when it is complete, so that a killed rank loses none; program "
         "leaves it as the program has it."},
        {"ACP_BOOTSTRAP", "", SettingKind::kChoice, "auto",
         "auto|acprun|pmi1|pmi2|pmix|single", 0, 0,
         "How a rank finds its job: auto looks for acprun, and then for the "
         "interface of another launcher: pmi1 (mpiexec of MPICH), pmi2 (srun "
         "--mpi=pmi2), pmix (mpirun of Open MPI, srun --mpi=pmix). single "
         "makes "
         "the process a job of its own."},
        {"ACP_INIT_TIMEOUT", "", SettingKind::kNumber, "60", "", 0, 86'400,
         "Seconds that a rank waits in acp_init for the others under mpiexec, "
         "mpirun or srun; 0 waits for ever. acprun has --init-timeout."},
    }};

}  // namespace

std::span<const Setting> settings_table() noexcept {
  return kTable;
}

}  // namespace acp
