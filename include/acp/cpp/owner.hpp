// Inside acp.hpp: the owner of a structure, and how a walk over one begins.
#ifndef ACP_CPP_OWNER_HPP
#define ACP_CPP_OWNER_HPP

#include <utility>

#include "acp/cpp/landing.hpp"

namespace acp {
inline namespace face {
namespace detail {

/// A handle of C, which is destroyed at the end if this object has made the
/// structure. Move-only.
template <typename Handle, void (*kDestroy)(Handle)>
class owner {
 public:
  using handle_type = Handle;

  owner(owner&& other) noexcept
      : handle_(std::exchange(other.handle_, Handle{})),
        epoch_(std::exchange(other.epoch_, 0U)) {}

  owner& operator=(owner&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(epoch_, other.epoch_);
    return *this;
  }

  ~owner() {
    if (epoch_ != 0 && is_current(epoch_)) {
      kDestroy(handle_);
    }
  }

  /// The handle, for other ranks and for functions of C.
  Handle handle() const noexcept { return handle_; }

  /// Whether the end of this object destroys the structure.
  bool is_owner() const noexcept { return epoch_ != 0; }

  /// Leaves the structure alive, for another rank to destroy.
  Handle release() noexcept {
    epoch_ = 0;
    return handle_;
  }

 protected:
  owner() = default;

  /// A structure that another object owns.
  explicit owner(Handle handle) : handle_(handle) {}

  /// A new structure; throws if the function of C has failed.
  owner(const char* function, Handle made)
      : handle_(made), epoch_(g_epoch.load(std::memory_order_relaxed)) {
    if (made.ga == ACP_GA_NULL) {
      fail(function);
    }
  }

 private:
  Handle handle_{};
  unsigned epoch_ = 0;  ///< 0: another object owns the structure, or none.
};

}  // namespace detail
}  // namespace face
}  // namespace acp

#endif  // ACP_CPP_OWNER_HPP
