// The functions for published names of acp/extension.h. Programs call them.
// Each makes one call and translates the result, and takes no lock.
#include "acp/extension.h"
#include "middle/names/names.h"

using acp::middle::structure::Site;
namespace names = acp::middle::names;

extern "C" {

int acpx_publish(const char* name, const void* value, size_t size) {
  Site* site = Site::of_call("acpx_publish");
  return site == nullptr
             ? -1
             : static_cast<int>(names::publish(
                   *site, name, {static_cast<const std::byte*>(value), size}));
}

int acpx_lookup(const char* name,
                void* value,
                size_t capacity,
                size_t* size,
                int timeout_ms) {
  Site* site = Site::of_call("acpx_lookup");
  return site == nullptr
             ? -1
             : static_cast<int>(names::lookup(
                   *site, name, {static_cast<std::byte*>(value), capacity},
                   size, timeout_ms));
}

int acpx_unpublish(const char* name) {
  Site* site = Site::of_call("acpx_unpublish");
  return site == nullptr ? -1 : static_cast<int>(names::unpublish(*site, name));
}

}  // extern "C"
