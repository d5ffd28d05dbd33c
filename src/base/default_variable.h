// A value for a variable of the environment that the user has not set.
#pragma once

#include <cstdlib>

namespace acp {

/// Sets a variable for as long as the object lives, unless it is set already.
/// Like setenv(), not for use beside threads that read the environment.
class DefaultVariable {
 public:
  /// `name` has to live as long as the object.
  DefaultVariable(const char* name, const char* value)
      : name_(std::getenv(name) == nullptr ? name : nullptr) {
    if (name_ != nullptr) ::setenv(name, value, 1);
  }

  DefaultVariable(const DefaultVariable&) = delete;
  DefaultVariable& operator=(const DefaultVariable&) = delete;

  ~DefaultVariable() {
    if (name_ != nullptr) ::unsetenv(name_);
  }

 private:
  const char* name_;  ///< Null: the user's value stays.
};

}  // namespace acp
