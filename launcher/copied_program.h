// A copy of the program that --preload brings to a host, in a folder of its
// own.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace acp::launcher {

/// Used by one thread. The destructor removes the folder.
class CopiedProgram {
 public:
  CopiedProgram() = default;
  CopiedProgram(const CopiedProgram&) = delete;
  CopiedProgram& operator=(const CopiedProgram&) = delete;

  ~CopiedProgram() { remove(); }

  void append(std::string_view bytes) { bytes_.append(bytes); }

  /// Writes the bytes into a file of this name that can be executed, and
  /// returns its path. kSystem, logged.
  Result<std::string> finish(const std::string& name);

  void remove();

  const std::string& folder() const noexcept { return folder_; }

 private:
  std::string bytes_;
  std::string folder_;  ///< "": none.
  std::string file_;
};

}  // namespace acp::launcher
