// Asks a question in a child process that a time limit ends. The resolver of
// names has no limit, and a thread that hangs in it cannot be ended.
#pragma once

#include <chrono>
#include <functional>
#include <string>

namespace acp::launcher {

/// The limit for questions to the resolver of names. A resolver that works
/// answers within milliseconds. Where its servers are silent it takes 5 s and
/// more, and the start of a job should not. Reasoned: 1 to 5 s will do.
inline constexpr std::chrono::milliseconds kResolveLimit{2000};

/// Plain value.
struct ChildAnswer {
  std::string bytes;     ///< The child has written them within the limit.
  bool is_late = false;  ///< The limit passed before the child ended.
  int error = 0;         ///< errno: there was no child.
};

/// Runs `ask` in a child, with a descriptor to write the answer to, and blocks
/// until it returns or the limit passes. Leaves no child behind. Call it while
/// the process has one thread.
ChildAnswer answer_of_child(const std::function<void(int fd)>& ask,
                            std::chrono::milliseconds limit);

}  // namespace acp::launcher
