// Parses ACP_UDP_FAULTS and rolls its dice. For tests only.
#include "udp/fault_plan.h"

#include <charconv>

namespace acp::udp {

namespace {

template <typename T>
bool parse_number(std::string_view text, T& value) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && rest == end;
}

bool parse_part(std::string_view name,
                std::string_view value,
                FaultPlan& plan) {
  if (name == "seed") {
    return parse_number(value, plan.seed);
  }
  double* rate = name == "loss"        ? &plan.loss
                 : name == "duplicate" ? &plan.duplicate
                 : name == "reorder"   ? &plan.reorder
                 : name == "corrupt"   ? &plan.corrupt
                                       : nullptr;
  return rate != nullptr && parse_number(value, *rate) && *rate >= 0 &&
         *rate <= 1;
}

}  // namespace

std::optional<FaultPlan> parse_fault_plan(std::string_view text) {
  FaultPlan plan;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos ||
        !parse_part(part.substr(0, equals), part.substr(equals + 1), plan)) {
      return std::nullopt;
    }
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  }
  if (plan.loss > 0.9 || plan.corrupt > 0.9) {
    return std::nullopt;
  }
  return plan;
}

std::uint64_t FaultDice::roll() noexcept {
  state_ += 0x9e3779b97f4a7c15;
  std::uint64_t mixed = state_;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
  return mixed ^ mixed >> 31;
}

bool FaultDice::hits(double rate) noexcept {
  constexpr double kUnit = 1.0 / 9007199254740992.0;  // 2^-53
  return rate > 0 && static_cast<double>(roll() >> 11) * kUnit < rate;
}

void FaultDice::damage(std::span<std::byte> bytes) noexcept {
  const std::uint64_t bit = roll() % (bytes.size() * 8);
  bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
}

}  // namespace acp::udp
