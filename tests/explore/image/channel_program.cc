// A channel from rank 0 to rank 1. Messages are a number, repeated to the size
// of the message.
#include <algorithm>
#include <vector>

#include "acp/channel.h"
#include "explore/image/programs.h"
#include "explore/operations.h"

namespace explore {

namespace {

class ChannelProgram : public Program {
 public:
  Handles create(std::uint64_t variant) override { return {variant, 0}; }

  /// Only creates the ends. They connect with the first message.
  void use(const Handles& /*handles*/) override {
    if (acp_rank() < 2) {
      end_ = acp_create_ch(0, 1);
    }
  }

  /// Waits for each message, so a program has one request at a time.
  std::uint64_t run(const Operation& operation) override {
    acp_errno = 0;
    const std::size_t words = std::max<std::size_t>(operation.b, 1);
    switch (operation.code) {
      case channel::kSend: {
        std::vector<std::uint64_t> message(words, operation.a);
        const acp_request_t request =
            acp_nbsend_ch(end_, message.data(), words * 8);
        return acp_wait_ch(request) == SIZE_MAX ? kFailure : kNothing;
      }
      case channel::kReceive: {
        std::vector<std::uint64_t> message(words, kFailure);
        const acp_request_t request =
            acp_nbrecv_ch(end_, message.data(), words * 8);
        const std::size_t bytes = acp_wait_ch(request);
        const bool is_whole =
            bytes == words * 8 && std::all_of(message.begin(), message.end(),
                                              [&](std::uint64_t word) {
                                                return word == message.front();
                                              });
        return is_whole ? message.front() : kFailure;
      }
      case channel::kFree: return acp_free_ch(end_) == 0 ? kNothing : kFailure;
      default: return kFailure;
    }
  }

  std::size_t dump(std::uint64_t* /*to*/, std::size_t /*most*/) override {
    return 0;
  }

  void destroy() override {}

 private:
  acp_ch_t end_{};
};

}  // namespace

Program* channel_program() {
  static ChannelProgram program;
  return &program;
}

}  // namespace explore
