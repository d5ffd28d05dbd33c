// A message of several chains whose last chain cannot be posted: both sides
// fail, and none of its puts reads or writes memory after that. docs/qmp.md,
// "Message flow".
#include <dlfcn.h>

#include <atomic>
#include <vector>

#include "acp.h"
#include "qmp_case.h"

using nodes::left;
using nodes::right;

namespace {

/// Chains of blocks that are posted before one is refused; negative: all are.
/// The program's thread writes it while no chain is under way, and whichever
/// thread makes progress counts it down.
std::atomic<int> g_posts_before_failure = -1;
/// The last chain of blocks that was posted.
std::atomic<acp_handle_t> g_last = ACP_HANDLE_NULL;

constexpr std::size_t kBlock = 8192;
constexpr std::size_t kBlocks = 40;  // Three chains.

/// Blocks with a gap behind each of them.
std::vector<std::byte> strided(std::byte value) {
  return std::vector<std::byte>(2 * kBlock * kBlocks, value);
}

QMP_msgmem_t declare(std::vector<std::byte>& bytes) {
  return QMP_declare_strided_msgmem(bytes.data(), kBlock,
                                    static_cast<int>(kBlocks), 2 * kBlock);
}

}  // namespace

/// Replaces the function of libacp, for libqmp as well.
extern "C" [[gnu::visibility("default")]] acp_handle_t acpx_post(
    const acpx_op_t* ops, size_t n, acp_handle_t order) {
  static const auto real =
      reinterpret_cast<decltype(&acpx_post)>(::dlsym(RTLD_NEXT, "acpx_post"));
  if (ops[0].opcode != ACPX_PUT || ops[0].size != kBlock) {
    return real(ops, n, order);
  }
  if (g_posts_before_failure == 0) {
    acp_errno = ACPX_NO_MEMORY;
    return ACP_HANDLE_NULL;
  }
  const acp_handle_t handle = real(ops, n, order);
  if (handle != ACP_HANDLE_NULL) {
    --g_posts_before_failure;
    g_last = handle;
  }
  return handle;
}

SPMD_CASE(qmp_refused_chain, "a chain that cannot be posted ends the message") {
  std::vector<std::byte> out = strided(std::byte{1});
  std::vector<std::byte> in = strided(std::byte{2});
  QMP_msgmem_t memories[] = {declare(out), declare(in)};
  QMP_msghandle_t send = QMP_declare_send_to(memories[0], right(), 0);
  QMP_msghandle_t receive = QMP_declare_receive_from(memories[1], left(), 0);
  for (int posts : {2, 1, 0}) {
    EXPECT_OK(QMP_barrier());
    EXPECT_OK(QMP_start(receive));
    g_last = ACP_HANDLE_NULL;
    g_posts_before_failure = posts;
    EXPECT_OK(QMP_start(send));
    EXPECT_EQ(QMP_wait(send), QMP_ERROR);
    EXPECT_EQ(g_posts_before_failure.load(), 0);
    EXPECT_EQ(acp_inquire(g_last), 0);
    g_posts_before_failure = -1;
    EXPECT_EQ(QMP_wait(receive), QMP_ERROR);
    // The network may change `in` behind the compiler's back.
    const std::vector<std::byte> then(in.begin(), in.end());
    EXPECT_OK(QMP_barrier());
    EXPECT(in == then);
  }
  // The channel goes on.
  EXPECT_OK(QMP_start(receive));
  EXPECT_OK(QMP_start(send));
  EXPECT_OK(QMP_wait(send));
  EXPECT_OK(QMP_wait(receive));
  for (std::size_t i = 0; i < in.size(); ++i) {
    const bool is_gap = i / kBlock % 2 == 1;
    EXPECT_EQ(std::to_integer<int>(in[i]), is_gap ? 2 : 1);
  }
  QMP_free_msghandle(send);
  QMP_free_msghandle(receive);
  for (QMP_msgmem_t each : memories) {
    QMP_free_msgmem(each);
  }
}
