// Memory of this process that other ranks can read and write.
#pragma once

#include <cstddef>
#include <memory>

#include "acp.h"

namespace lqcd {

/// Bytes of this process that have a global address. Move-only by pointer.
class GlobalBytes {
 public:
  /// nullptr when there is no memory, or no key.
  static std::unique_ptr<GlobalBytes> make(std::size_t bytes);
  GlobalBytes(const GlobalBytes&) = delete;
  GlobalBytes& operator=(const GlobalBytes&) = delete;
  ~GlobalBytes();

  std::byte* data() const { return data_; }

  acp_ga_t address() const { return address_; }

 private:
  GlobalBytes() = default;

  std::byte* data_ = nullptr;
  acp_ga_t address_ = ACP_GA_NULL;
  std::unique_ptr<std::byte[]> owned_;  ///< None: from acp_malloc.
  acp_atkey_t key_ = ACP_ATKEY_NULL;
};

}  // namespace lqcd
