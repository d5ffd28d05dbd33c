// Rows of chains: steps that travel together. rows.cc lists them, and runner.cc
// runs them. A row may leave no chain open, because the next row uses the same
// words.
#include <array>

#include "rows.h"
#include "timing.h"

namespace acp::perf {

namespace {

constexpr std::size_t kBlockBytes = 64;

acpx_op_t bulk(acpx_opcode_t opcode,
               acp_ga_t remote,
               acp_ga_t local,
               std::size_t size) {
  acpx_op_t op{};
  op.opcode = opcode;
  op.remote = remote;
  op.local = local;
  op.size = size;
  return op;
}

acpx_op_t atomic(acpx_opcode_t opcode,
                 acp_ga_t remote,
                 acp_ga_t local,
                 std::uint64_t operand) {
  acpx_op_t op{};
  op.opcode = opcode;
  op.remote = remote;
  op.local = local;
  op.operand = operand;
  return op;
}

/// A block, and a count behind it. At the end the block is fetched into an
/// outbox that held another pattern, so that a lost put shows.
Outcome run_put_add(Context& context, Samples& samples) {
  const Memory& memory = context.memory;
  const std::array<acpx_op_t, 2> chain = {
      bulk(ACPX_PUT, memory.inbox(context.target), memory.outbox(context.rank),
           kBlockBytes),
      atomic(ACPX_ADD8, memory.word(context.target, Word::kTarget), ACP_GA_NULL,
             1)};
  memory.put_word(context.target, Word::kTarget, 0);
  fill_pattern(memory.own_outbox(), kBlockBytes, context.row);
  std::uint64_t count = 0;
  measure(context.time_ns, 1, samples, [&] {
    acp_complete(acpx_post(chain.data(), chain.size(), ACP_HANDLE_NULL));
    ++count;
  });
  const bool counted = memory.get_word(context.target, Word::kTarget) == count;
  fill_pattern(memory.own_outbox(), kBlockBytes, ~context.row);
  acp_complete(acp_copy(memory.outbox(context.rank),
                        memory.inbox(context.target), kBlockBytes,
                        ACP_HANDLE_NULL));
  return expect(
      counted && has_pattern(memory.own_outbox(), kBlockBytes, context.row),
      "the block or the count at the target is wrong");
}

/// A large put and a signal behind it, complete. The data are fetched at the
/// end into an outbox that held another pattern.
Outcome run_put_signal(Context& context,
                       Samples& samples,
                       std::uint64_t bytes) {
  const Memory& memory = context.memory;
  const acp_ga_t target = memory.inbox(context.target);
  const acp_ga_t source = memory.outbox(context.rank);
  const acp_ga_t signal = memory.word(context.target, Word::kSignal);
  const std::uint64_t before = memory.get_word(context.target, Word::kSignal);
  fill_pattern(memory.own_outbox(), bytes, context.row);
  std::uint64_t count = 0;
  measure(context.time_ns, 1, samples, [&] {
    acp_complete(
        acpx_put_signal(target, source, bytes, signal, 1, ACP_HANDLE_NULL));
    ++count;
  });
  const bool counted =
      memory.get_word(context.target, Word::kSignal) == before + count;
  fill_pattern(memory.own_outbox(), bytes, ~context.row);
  acp_complete(acp_copy(source, target, bytes, ACP_HANDLE_NULL));
  return expect(counted && has_pattern(memory.own_outbox(), bytes, context.row),
                "the data or the count of signals at the target is wrong");
}

Row put_signal_row(std::uint64_t bytes) {
  return {.name = "put_signal." + size_name(bytes),
          .what = "acpx_put_signal, and acp_complete",
          .raw_direct = "raw.memmove." + size_name(bytes),
          .raw_network = "raw.udp",
          .run = [bytes](Context& context, Samples& samples) {
            return run_put_signal(context, samples, bytes);
          }};
}

/// A compare-and-swap, and a get behind it. The block is put first;
/// another pattern then fills the outbox, so that a lost get shows.
Outcome run_cas_get(Context& context, Samples& samples) {
  const Memory& memory = context.memory;
  const std::uint64_t* old = memory.own_word(Word::kResult);
  fill_pattern(memory.own_outbox(), kBlockBytes, context.row);
  acp_complete(acp_copy(memory.inbox(context.target),
                        memory.outbox(context.rank), kBlockBytes,
                        ACP_HANDLE_NULL));
  fill_pattern(memory.own_outbox(), kBlockBytes, ~context.row);
  memory.put_word(context.target, Word::kTarget, 0);
  std::array<acpx_op_t, 2> chain = {
      atomic(ACPX_CAS8, memory.word(context.target, Word::kTarget),
             memory.word(context.rank, Word::kResult), 0),
      bulk(ACPX_GET, memory.inbox(context.target), memory.outbox(context.rank),
           kBlockBytes)};
  std::uint64_t count = 0;
  bool ok = true;
  measure(context.time_ns, 1, samples, [&] {
    chain[0].compare = count;
    chain[0].operand = count + 1;
    acp_complete(acpx_post(chain.data(), chain.size(), ACP_HANDLE_NULL));
    ok &= *old == count++;
  });
  return expect(
      ok && has_pattern(memory.own_outbox(), kBlockBytes, context.row),
      "an old value or the block got is wrong");
}

}  // namespace

/// The limit over memory is the atomic of the chain alone.
void add_chain_rows(Rows& rows) {
  append(
      rows,
      {
          {.name = "chain.put_add",
           .what =
               "acpx_post of a 64-byte put and an 8-byte add, and acp_complete",
           .raw_direct = "raw.fetch_add",
           .raw_network = "raw.udp",
           .raw_rdma = "raw.rdma.put_add",
           .run = run_put_add},
          {.name = "chain.cas_get",
           .what =
               "acpx_post of an 8-byte cas and a 64-byte get, and acp_complete",
           .raw_direct = "raw.cas",
           .raw_network = "raw.udp",
           .run = run_cas_get},
          put_signal_row(64 << 10),
          put_signal_row(1 << 20),
      });
}

}  // namespace acp::perf
