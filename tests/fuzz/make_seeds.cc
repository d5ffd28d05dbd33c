// A program that writes valid inputs for every fuzz target, made by the
// encoders. The test fuzz.seeds runs it before the fuzz tests.
//
//   fuzz_make_seeds <folder>     fills <folder>/<target>/
#include <fmt/core.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <random>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "protocol/bootstrap.h"
#include "protocol/byte_codec.h"
#include "protocol/host_segment.h"
#include "protocol/job_view.h"
#include "protocol/operation.h"
#include "runtime/host_bundle.h"
#include "runtime/job_record.h"
#include "runtime/pmi_message.h"
#include "transport/registrations/control.h"
#include "udp/address_card.h"
#include "udp/packet.h"
#include "udp/packet_guard.h"
#ifdef ACP_HAS_UCX
#include "transport/ucx/address_card.h"
#include "transport/ucx/packet.h"
#endif
#ifdef ACP_HAS_VERBS
#include "verbs/address_card.h"
#include "verbs/hello.h"
#include "verbs/packet.h"
#endif

namespace {

using acp::protocol::BootstrapType;
using acp::protocol::Opcode;
using acp::protocol::Step;

class SeedFolder {
 public:
  SeedFolder(const std::filesystem::path& top, std::string_view target)
      : folder_(top / target) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }

  void add(std::span<const std::byte> bytes) {
    std::ofstream file(folder_ / fmt::format("{:02}", count_++),
                       std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    is_good_ = is_good_ && file.good();
  }

  bool is_good() const noexcept { return is_good_; }

 private:
  std::filesystem::path folder_;
  int count_ = 0;
  bool is_good_ = true;
};

template <typename T>
void append(std::vector<std::byte>& bytes, const T& value) {
  const auto more = std::as_bytes(std::span(&value, 1));
  bytes.insert(bytes.end(), more.begin(), more.end());
}

/// The bytes have to decode, since a seed that the target refuses at once
/// teaches the fuzzer little.
std::vector<std::byte> request(std::initializer_list<Step> steps,
                               std::uint16_t flags = 0) {
  std::size_t data_bytes = 0;
  for (const Step& step : steps) {
    data_bytes += acp::protocol::request_bytes(step);
  }
  acp::protocol::RequestHeader header;
  header.steps = static_cast<std::uint8_t>(steps.size());
  header.data_bytes = static_cast<std::uint32_t>(data_bytes);
  header.flags = flags;
  header.id = flags == acp::protocol::kUnansweredFlag ? 0 : 7;
  std::vector<std::byte> bytes;
  append(bytes, header);
  for (const Step& step : steps) {
    append(bytes, acp::protocol::encode_step(step));
  }
  bytes.resize(bytes.size() + data_bytes, std::byte{0x5a});
  ACP_ASSERT(acp::protocol::decode_request(bytes).has_value());
  return bytes;
}

Step step(Opcode opcode, std::uint32_t size, std::uint64_t remote) {
  Step step;
  step.opcode = opcode;
  step.size = size;
  step.remote = remote;
  step.local = 3;
  step.operand = 3;
  return step;
}

void add_requests(SeedFolder& folder) {
  for (const Opcode opcode :
       {Opcode::kPut, Opcode::kPut8, Opcode::kGet, Opcode::kAdd, Opcode::kCas,
        Opcode::kAnd, Opcode::kOr, Opcode::kXor, Opcode::kSwap,
        Opcode::kCopy}) {
    folder.add(request({step(opcode, 40, 16)}));
  }
  Step narrow = step(Opcode::kAdd, 0, 12);
  narrow.width = 4;
  narrow.flags = acp::protocol::kSignalFlag;
  folder.add(request(
      {step(Opcode::kPut, 100, 900), step(Opcode::kGet, 64, 0), narrow}));
  folder.add(request({step(Opcode::kPut, 1, 999), step(Opcode::kPut, 2, 999)}));
  // Unanswered requests have one step: a good one, and one that fails.
  Step signal = step(Opcode::kAdd, 0, 16);
  signal.flags = acp::protocol::kSignalFlag;
  folder.add(request({signal}, acp::protocol::kUnansweredFlag));
  signal.remote = 1 << 20;
  folder.add(request({signal}, acp::protocol::kUnansweredFlag));
}

void add_replies(SeedFolder& folder) {
  acp::protocol::ReplyHeader header;
  header.id = 9;
  header.data_bytes = 8;
  std::vector<std::byte> bytes;
  append(bytes, header);
  append(bytes, std::uint64_t{42});
  folder.add(bytes);
  header.status = acp::Status::kBadKey;
  header.failed_step = 2;
  header.data_bytes = 0;
  bytes.clear();
  append(bytes, header);
  folder.add(bytes);
  // A shared reply: fuzz_replies.cc tells which requests these ids stand for.
  header = {};
  header.type = acp::protocol::MessageType::kSharedReply;
  header.data_bytes = 32;
  header.id = 1;
  bytes.clear();
  append(bytes, header);
  for (const std::uint64_t id : {0, 3, 2, 1}) {
    append(bytes, id);
  }
  folder.add(bytes);
}

void add_bootstrap(SeedFolder& folder) {
  for (int type = 1; type <= 7; ++type) {
    folder.add(acp::protocol::encode_bootstrap(
        {static_cast<BootstrapType>(type), 1, type % 2 == 0 ? "" : "text"}));
  }
}

void add_nodefiles(SeedFolder& folder) {
  for (const std::string_view text :
       {"node0\nnode1\n", "# comment\nnode0:2\n\nnode1 slots=3 # three\n",
        "[::1]:4\n127.0.0.1:65536\r\n", "node0:0\n", "node0 slots=\n"}) {
    folder.add(std::as_bytes(std::span(text)));
  }
}

/// A packet with messages of these sizes, or a pure ack without any.
void add_packet(SeedFolder& folder,
                std::uint8_t flags,
                std::initializer_list<std::uint16_t> messages) {
  std::vector<std::byte> bytes(acp::udp::kHeadroomBytes);
  for (const std::uint16_t size : messages) {
    append(bytes, size);
    bytes.resize(bytes.size() + size, std::byte{0x33});
  }
  acp::udp::PacketHeader header;
  header.type = messages.size() == 0 ? acp::udp::PacketType::kAck
                                     : acp::udp::PacketType::kData;
  header.flags = flags;
  header.txno = 11;
  header.seq = messages.size() == 0 ? 0 : 5;
  header.ack = 4;
  header.epoch = 0x1234;
  header.destination = 1;
  const auto packet = acp::udp::encode_packet(
      header, {0xf0f0}, std::span(bytes).subspan(acp::udp::kHeadroomBytes));
  acp::udp::PacketGuard guard(acp::udp::Security::kOff, {}, 1);
  (void)guard.seal(acp::udp::Cipher::kChecksum, 0, header, packet, {});
  folder.add(packet);
}

void add_udp(SeedFolder& folder) {
  add_packet(folder, 0, {24});
  add_packet(folder, acp::udp::kFlagOrdered, {1, 0, 200});
  add_packet(folder, acp::udp::kFlagSack, {});
  add_packet(folder, acp::udp::kKnownFlags, {64, 64});
  acp::udp::AddressCard card;
  card.colors = 2;
  card.datagram_bytes = 1400;
  for (acp::udp::Address& address : card.addresses) {
    address.family = acp::udp::Family::kIpv4;
    address.port = 4000;
    address.bytes[0] = 127;
  }
  std::array<std::byte, acp::udp::kMaxCardBytes> bytes{};
  folder.add(std::span(bytes).first(acp::udp::encode_card(card, bytes)));
}

/// Schedules of fuzz_udp_stream.cc, one for each way to choose the job by one
/// bit: sends to both sides, polls, and then each kind of event.
void add_udp_schedules(SeedFolder& folder) {
  for (unsigned bit = 0; bit < 9; ++bit) {
    const unsigned choices = 1U << bit;
    std::vector<std::byte> bytes;
    append(bytes, static_cast<std::uint16_t>(choices));
    for (unsigned event = 0; event < 48; ++event) {
      append(bytes, static_cast<std::uint8_t>(event % 3 == 0 ? 0 : event / 3));
      append(bytes, static_cast<std::uint8_t>(event * 29));
      append(bytes, static_cast<std::uint8_t>(event * 53));
    }
    folder.add(bytes);
  }
}

/// A question for a registration, an answer, and an announcement.
void add_memory_control(SeedFolder& folder) {
  using acp::transport::ControlKind;
  folder.add(acp::transport::encode_control(
      {.kind = ControlKind::kWant, .key = 5, .offset = 64}));
  for (const ControlKind kind :
       {ControlKind::kRegistration, ControlKind::kAnnounce}) {
    folder.add(acp::transport::encode_control(
        {.kind = kind,
         .key = 5,
         .offset = 64,
         .size = 4096,
         .rkey = std::vector<std::byte>(40, std::byte{0x5a})}));
  }
}

#ifdef ACP_HAS_VERBS
/// An input for each decoder of the verbs transport: address card, hello,
/// refusal, packet.
void add_verbs(SeedFolder& folder) {
  acp::verbs::AddressCard card;
  card.colors = 2;
  card.packet_bytes = acp::verbs::kPacketBytes;
  for (acp::transport::Address& listener : card.listen_addresses) {
    listener.family = acp::transport::Family::kIpv4;
    listener.port = 4000;
    listener.bytes[0] = 10;
  }
  std::array<std::byte, acp::verbs::kMaxCardBytes> bytes{};
  folder.add(std::span(bytes).first(acp::verbs::encode_card(card, bytes)));
  acp::verbs::Hello hello;
  hello.source = 1;
  hello.packet_bytes = acp::verbs::kPacketBytes;
  folder.add(acp::verbs::encode_hello(hello));
  folder.add(acp::verbs::encode_refusal(acp::verbs::Refusal::kCrossed));
  std::vector<std::byte> packet;
  for (const int bytes_each : {3, 0, 200}) {
    const auto size = static_cast<std::uint16_t>(bytes_each);
    append(packet, size);
    packet.resize(packet.size() + size, std::byte{0x33});
  }
  folder.add(packet);
}
#endif

#ifdef ACP_HAS_UCX
/// An input for each decoder of the UCX transport: address card, packet.
void add_ucx(SeedFolder& folder) {
  const std::vector<std::byte> bytes(40, std::byte{0x5a});
  folder.add(acp::ucx::encode_card(
      {.api = 1 << 16 | 13,
       .tls = "tcp,self",
       .host = "node7",
       .addresses = {{.all = bytes, .network = bytes}, {.all = bytes}}}));
  std::vector<std::byte> packet(acp::ucx::kPacketHeaderBytes);
  acp::ucx::encode_packet_header({.from = 1, .number = 2, .job = 3},
                                 packet.data());
  for (const std::uint32_t size : {3, 0, 200}) {
    append(packet, size);
    packet.resize(packet.size() + size, std::byte{0x33});
  }
  folder.add(packet);
}
#endif

void add_text(SeedFolder& folder, std::string_view text) {
  folder.add(std::as_bytes(std::span(text)));
}

/// Answers as Hydra and Slurm write them, and requests of our own.
void add_pmi(SeedFolder& folder) {
  using acp::runtime::encode_pmi;
  using acp::runtime::PmiDialect;
  for (const char* answer :
       {"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
        "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024",
        "cmd=get_result rc=-1 msg=key_a_not_found value=unknown",
        "cmd=fullinit-response;rc=0;pmi-version=2;rank=1;size=4;appnum=-1;",
        "cmd=kvs-get-response;rc=0;found=TRUE;value=a;;b;"}) {
    add_text(folder, answer);
  }
  add_text(folder, encode_pmi(PmiDialect::kPmi2, {"kvs-fence", {}}));
  add_text(folder, encode_pmi(PmiDialect::kPmi2,
                              {"kvs-put", {{"key", "k"}, {"value", "v;w"}}}));
}

void add_node_maps(SeedFolder& folder) {
  for (const char* text :
       {"(vector,(0,1,1))", "(vector,(0,2,3),(2,1,4))", "(vector,(0,50,2))"}) {
    add_text(folder, text);
  }
}

/// Parts of bundles, and the bytes of the records that they carry.
void add_bundles(SeedFolder& folder) {
  acp::runtime::JobRecord job;
  job.procs = 4;
  acp::runtime::HostRecord host;
  host.door = "acp-door-1";
  host.host_name = "node1";
  host.addresses = {"10.0.0.1", "fd00::1"};
  // Two entries of a published table: process, record, address card.
  acp::protocol::ByteWriter table;
  for (const std::uint32_t proc : {0U, 3U}) {
    table.number(proc);
    table.number(acp::protocol::PublishedRecord::Values{7, proc, 0});
    table.text(std::string(proc * 30, 'c'));
  }
  for (const std::string& bytes :
       {encode_record(job), encode_record(host), table.take()}) {
    add_text(folder, bytes);
    for (const std::string& value : acp::runtime::split_bundle(bytes, 1023)) {
      add_text(folder, value);
    }
  }
}

void add_macprun_files(SeedFolder& folder) {
  for (const char* text :
       {"# worlds\n2\nacprun -v\nmpirun\n----\n3\n2\n./a 'b c'\n./d \"e\"\n",
        "1\nmpirun -x \"A=b c\" # three\n65536\n./a\\ b\n"}) {
    add_text(folder, text);
  }
}

/// Each byte means something to the target, so random ones are valid.
void add_hmpi_messages(SeedFolder& folder) {
  for (const unsigned seed : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U}) {
    std::mt19937 random(seed);
    std::vector<std::byte> bytes(200 * seed);
    for (std::byte& byte : bytes) {
      byte = static_cast<std::byte>(random());
    }
    folder.add(bytes);
  }
}

void add_views(SeedFolder& folder) {
  acp::protocol::JobView view;
  view.procs = 2;
  view.program = "./program";
  view.hosts = {"a", "b"};
  add_text(folder, encode_view(view));
  for (std::uint32_t i = 0; i < 2; ++i) {
    acp::protocol::RankView rank;
    rank.launch_rank = i;
    rank.rank = 1 - i;
    rank.host = i;
    rank.call = "acp_wait_ch (receive)";
    rank.peer = i;
    view.ranks.push_back(rank);
  }
  view.end = "rank 1 failed";
  add_text(folder, encode_view(view));
}

/// A folder for each fuzzing target. Targets of networks that are not built
/// have none.
bool write_seeds(const std::filesystem::path& top) {
  bool is_good = true;
  const auto fill = [&](std::string_view target, auto... add) {
    SeedFolder folder(top, target);
    (add(folder), ...);
    is_good = is_good && folder.is_good();
  };
  fill("agent", add_requests);
  fill("bootstrap", add_bootstrap);
  fill("replies", add_replies);
  fill("nodefile", add_nodefiles);
  fill("macprun_file", add_macprun_files);
  fill("hmpi_messages", add_hmpi_messages);
  fill("operation", add_requests, add_replies);
  fill("udp_packet", add_udp);
  fill("udp_stream", add_udp_schedules);
  fill("pmi", add_pmi);
  fill("node_map", add_node_maps);
  fill("host_bundle", add_bundles);
  fill("job_view", add_views);
  fill("memory_control", add_memory_control);
#ifdef ACP_HAS_UCX
  fill("ucx_bytes", add_ucx);
#endif
#ifdef ACP_HAS_VERBS
  fill("verbs_bytes", add_verbs);
#endif
  return is_good;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: {} <folder>\n", argv[0]);
    return 2;
  }
  if (!write_seeds(argv[1])) {
    fmt::print(stderr, "cannot write the seeds into {}\n", argv[1]);
    return 1;
  }
  return 0;
}
