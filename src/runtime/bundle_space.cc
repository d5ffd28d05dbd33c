// Puts bundles into a launcher's key-value space and gets them from there.
// Called by the bootstrap, and by the thread that fetches an address card. It
// knows nothing of what the bytes mean.
#include "runtime/bundle_space.h"

#include <fmt/core.h>

#include "base/log.h"
#include "runtime/host_bundle.h"

namespace acp::runtime {

namespace {

/// The process manager has logged every other status.
Status unanswered(const std::string& key, Status status) {
  if (status == Status::kTimedOut) {
    log_error(
        "the launcher does not answer a request for its value {}, and "
        "ACP_INIT_TIMEOUT is over: see whether its process on this host is "
        "stopped",
        key);
  }
  return status;
}

}  // namespace

/// Part i of the bundle `key` is the value "key-i".
Status BundleSpace::put(const std::string& key,
                        std::string_view bytes,
                        const WaitLimit& limit) {
  const auto values = split_bundle(bytes, manager_.value_limit());
  if (values.empty()) {
    log_error(
        "{} bytes for the launcher's value {}: {} values of {} characters "
        "are the limit; acprun has none",
        bytes.size(), key, kBundleMaxParts, manager_.value_limit());
    return Status::kTooLarge;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Status status =
        manager_.put(fmt::format("{}-{}", key, i), values[i], limit);
    if (status != Status::kOk) {
      return unanswered(key, status);
    }
  }
  return Status::kOk;
}

/// The first part tells how many there are.
Result<std::string> BundleSpace::get(std::uint32_t owner,
                                     const std::string& key,
                                     const WaitLimit& limit) {
  std::string text;
  std::uint32_t parts = 1;
  for (std::uint32_t i = 0; i < parts; ++i) {
    const auto value = manager_.get(owner, fmt::format("{}-{}", key, i), limit);
    if (!value.ok()) {
      return unanswered(key, value.status());
    }
    const auto part = decode_bundle_part(*value);
    if (!part || (i > 0 && part->parts != parts)) {
      return bad_value(owner, key);
    }
    parts = part->parts;
    text += part->text;
  }
  auto bytes = decode_bundle(text);
  return bytes ? Result(std::move(*bytes)) : bad_value(owner, key);
}

Status BundleSpace::fence(FenceValues values, const WaitLimit& limit) {
  const Status status = manager_.fence(values, limit);
  if (status == Status::kTimedOut) {
    log_error(
        "not all ranks of the job came to acp_init in time; the launcher "
        "does not tell which. If they need longer before acp_init, set "
        "ACP_INIT_TIMEOUT; ranks of a program without ACP never come");
  }
  return status;
}

Status BundleSpace::bad_value(std::uint32_t owner, const std::string& key) {
  log_error(
      "the launcher's value {} of rank {} makes no sense: all hosts need the "
      "same build of the library",
      key, owner);
  return Status::kProtocol;
}

}  // namespace acp::runtime
