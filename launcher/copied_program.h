// A copy of the program that --preload brings to a host, in a folder of its
// own.
#pragma once

#include <string>
#include <string_view>

#include "status/result.h"

namespace acp::launcher {

/// Removes a file that CopiedProgram::finish() has written, and its folder.
/// Makes system calls only. A file that is gone already is no error.
void remove_copied_program(const std::string& file);

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

 private:
  std::string bytes_;
  std::string file_;  ///< "": none.
};

}  // namespace acp::launcher
