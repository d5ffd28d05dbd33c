// Encoding and decoding of control frames. Called by the endpoints of verbs and
// ucx. Bytes come from the peer, so decoding trusts nothing.
#include "transport/registrations/control.h"

#include <algorithm>

#include "base/little_endian.h"

namespace acp::transport {

std::vector<std::byte> encode_control(const Control& control) {
  std::vector<std::byte> bytes(kControlBytes + control.rkey.size());
  bytes[0] = static_cast<std::byte>(control.kind);
  store_little(bytes.data() + 4, control.key);
  store_little(bytes.data() + 8, control.epoch);
  store_little(bytes.data() + 12,
               static_cast<std::uint32_t>(control.rkey.size()));
  store_little(bytes.data() + 16, control.offset);
  store_little(bytes.data() + 24, control.state);
  store_little(bytes.data() + 32, control.size);
  store_little(bytes.data() + 40, control.address);
  std::ranges::copy(control.rkey, bytes.begin() + kControlBytes);
  return bytes;
}

/// Reads all fields before it judges them, because kind and size decide whether
/// an rkey has to follow.
std::optional<Control> decode_control(std::span<const std::byte> bytes) {
  if (bytes.size() < kControlBytes || bytes[1] != std::byte{0} ||
      bytes[2] != std::byte{0} || bytes[3] != std::byte{0}) {
    return std::nullopt;
  }
  Control control;
  control.kind = static_cast<ControlKind>(bytes[0]);
  control.key = load_little<std::uint32_t>(bytes.data() + 4);
  control.epoch = load_little<std::uint32_t>(bytes.data() + 8);
  control.offset = load_little<std::uint64_t>(bytes.data() + 16);
  control.state = load_little<std::uint64_t>(bytes.data() + 24);
  control.size = load_little<std::uint64_t>(bytes.data() + 32);
  control.address = load_little<std::uint64_t>(bytes.data() + 40);
  const auto rkey = bytes.subspan(kControlBytes);
  const bool is_known = control.kind >= ControlKind::kWant &&
                        control.kind <= ControlKind::kAnnounce;
  const bool tells = control.kind == ControlKind::kRegistration ||
                     control.kind == ControlKind::kAnnounce;
  const bool has_registration = tells && control.size != 0;
  // Neither offsets nor addresses of a registration may wrap around.
  const bool wraps = control.size > UINT64_MAX - control.offset ||
                     control.size > UINT64_MAX - control.address;
  if (!is_known || wraps || has_registration == rkey.empty() ||
      load_little<std::uint32_t>(bytes.data() + 12) != rkey.size()) {
    return std::nullopt;
  }
  control.rkey.assign(rkey.begin(), rkey.end());
  return control;
}

}  // namespace acp::transport
