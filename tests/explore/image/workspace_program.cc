// Reads and writes of words of a workspace. Its first half is on rank 0.
#include "acp/workspace.h"
#include "explore/image/programs.h"
#include "explore/operations.h"

namespace explore {

namespace {

constexpr std::uint64_t kSource = 0;  ///< Offsets in starter memory.
constexpr std::uint64_t kTarget = 64;
constexpr std::size_t kPart = 64;  ///< Bytes of the workspace on each rank.

class WorkspaceProgram : public Program {
 public:
  Handles create(std::uint64_t /*variant*/) override { return {}; }

  /// Every rank takes part in the creation.
  void use(const Handles& /*handles*/) override {
    workspace_ = acp_create_ws(kPart * static_cast<std::size_t>(acp_procs()));
  }

  std::uint64_t run(const Operation& operation) override {
    acp_errno = 0;
    const std::size_t offset = operation.a * 8;
    if (operation.code == workspace::kCreate) {
      return create_another(operation.a * 8);
    }
    if (operation.code == workspace::kWrite) {
      *own_words(kSource) = operation.b;
      return acp_write_ws(workspace_, own_ga(kSource), 8, offset) == 0
                 ? kNothing
                 : kFailure;
    }
    return acp_read_ws(workspace_, own_ga(kTarget), 8, offset) == 0
               ? *own_words(kTarget)
               : kFailure;
  }

  std::size_t dump(std::uint64_t* to, std::size_t /*most*/) override {
    for (std::uint64_t word = 0; word < workspace::kWords; ++word) {
      to[word] = run({workspace::kRead, workspace::word_number(word), 0});
    }
    return workspace::kWords;
  }

  void destroy() override {}

  void leave() override { acp_destroy_ws(workspace_); }

 private:
  static std::uint64_t create_another(std::size_t bytes) {
    const acp_wsd_t another = acp_create_ws(bytes);
    if (another == ACP_WSD_NULL) {
      return kFailure;
    }
    acp_destroy_ws(another);
    return unless_failed(kNothing);
  }

  acp_wsd_t workspace_ = ACP_WSD_NULL;
};

}  // namespace

Program* workspace_program() {
  static WorkspaceProgram program;
  return &program;
}

}  // namespace explore
