// Copies that this process does by itself, without the owner of either end.
#pragma once

#include <cstddef>
#include <vector>

#include "gma/endpoints.h"
#include "gma/operation.h"
#include "gma/route.h"
#include "gmm/address_space.h"

namespace acp::gma {

/// Guarded by the engine's mutex.
class LocalCopier {
 public:
  LocalCopier(const gmm::AddressSpace& space, Endpoints& endpoints)
      : space_(space), endpoints_(endpoints) {}

  /// The part of `copy` to do next, when its first or last `copied_bytes` are
  /// done already. Like memmove, a copy to a higher address runs backward.
  struct Plan {
    std::uint64_t rest_offset = 0;  ///< Where the bytes begin that are left.
    std::uint64_t rest_bytes = 0;
    std::uint64_t portion_offset = 0;  ///< Where the bytes begin to copy now.
    std::uint64_t portion_bytes = 0;
  };

  static Plan plan(std::uint64_t size,
                   std::uint64_t copied_bytes,
                   const gmm::Target& to,
                   const gmm::Target& from) noexcept;

  /// Whether copy() takes this way.
  static bool does(Way way) noexcept {
    return way == Way::kLocal || way == Way::kCrossGet ||
           way == Way::kCrossPut || way == Way::kBounce;
  }

  /// Copies one portion before it returns. kUnsupported: the endpoint does no
  /// cross-memory copies, and nothing has happened; send messages.
  Status copy(Way way,
              const Step& portion,
              const gmm::Target& to,
              const gmm::Target& from);

 private:
  Status cross_copy(transport::Direction direction,
                    std::byte* local,
                    std::uint64_t size,
                    const gmm::Target& peer,
                    Color color);
  Status bounce(const Step& portion,
                const gmm::Target& to,
                const gmm::Target& from);

  const gmm::AddressSpace& space_;
  Endpoints& endpoints_;
  std::vector<std::byte> bounce_;  ///< Empty until the first use.
};

/// The memory that begins `offset` bytes behind the start of a target.
gmm::Target advanced(gmm::Target target, std::uint64_t offset) noexcept;

}  // namespace acp::gma
