// The errors that ranks have reported in a job that goes well otherwise: a
// program that looks at no failure value ends with 0 in spite of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace acp::launcher {

/// Pure. Used by the thread of the event loop, which alone touches all fields.
class RankErrors {
 public:
  /// A rank has exited after so many errors. A number that is no count, from
  /// another host, is ignored.
  void note(std::uint32_t rank, std::int64_t errors);

  /// The exit status of a job that has no other reason to fail.
  int status(bool fails_by_errors) const noexcept {
    return fails_by_errors && !errors_.empty() ? 1 : 0;
  }

  /// The last line of acprun; "": no rank has reported an error.
  std::string line(bool fails_by_errors) const;

 private:
  std::map<std::uint32_t, std::uint64_t> errors_;  ///< By number at launch.
};

}  // namespace acp::launcher
