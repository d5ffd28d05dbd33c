// Static objects that are never destroyed.
#pragma once

#include <utility>

namespace acp {

/// Holds a static object whose destructor never runs. A program may return from
/// main while threads of the library run. They go on while the destructors of
/// static objects run.
template <typename T>
class Immortal {
 public:
  template <typename... Arguments>
  constexpr explicit Immortal(Arguments&&... arguments)
      : room_(std::forward<Arguments>(arguments)...) {}

  Immortal(const Immortal&) = delete;
  Immortal& operator=(const Immortal&) = delete;
  ~Immortal() = default;

  constexpr T& operator*() noexcept { return room_.value; }

  constexpr T* operator->() noexcept { return &room_.value; }

  constexpr const T& operator*() const noexcept { return room_.value; }

 private:
  /// A union does not destroy its member.
  union Room {
    template <typename... Arguments>
    constexpr explicit Room(Arguments&&... arguments)
        : value(std::forward<Arguments>(arguments)...) {}

    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;

    // NOLINTNEXTLINE(modernize-use-equals-default): it would be deleted
    constexpr ~Room() {}

    T value;
  };

  Room room_;
};

}  // namespace acp
