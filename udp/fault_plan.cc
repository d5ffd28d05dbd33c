// Parses ACP_UDP_FAULTS and decides which datagrams it loses, delays, doubles
// or damages. Called by UdpTransport::open, and by FaultySocket for each
// datagram, in tests only. It may not depend on the time, so that a seed
// repeats a run.
#include "udp/fault_plan.h"

#include <array>
#include <charconv>
#include <utility>

#include "base/byte_count.h"

namespace acp::udp {

namespace {

template <typename T>
bool parse_number(std::string_view text, T& value) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && rest == end;
}

bool parse_time(std::string_view text, Duration& time) {
  constexpr std::array<std::pair<std::string_view, Duration>, 4> kUnits = {
      {{"ns", std::chrono::nanoseconds(1)},
       {"us", std::chrono::microseconds(1)},
       {"ms", std::chrono::milliseconds(1)},
       {"s", std::chrono::seconds(1)}}};
  constexpr Duration kLongest = std::chrono::seconds(10);
  for (const auto& [unit, one] : kUnits) {
    std::int64_t count = 0;
    if (text.ends_with(unit) &&
        parse_number(text.substr(0, text.size() - unit.size()), count)) {
      const bool is_valid = count >= 0 && count <= kLongest / one;
      time = is_valid ? count * one : Duration::zero();
      return is_valid;
    }
  }
  return false;
}

bool parse_size(std::string_view text,
                std::uint64_t least,
                std::uint64_t& size) {
  const auto parsed = parse_bytes(text);
  size = parsed.value_or(0);
  return parsed && size >= least;
}

/// One part of the setting's text.
bool parse_part(std::string_view name,
                std::string_view value,
                FaultPlan& plan) {
  constexpr std::uint64_t kLeastRate = 1'000;
  constexpr std::uint64_t kLeastQueue = std::uint64_t{64} << 10;
  if (name == "seed") {
    return parse_number(value, plan.seed);
  }
  if (name == "delay") {
    return parse_time(value, plan.path.delay);
  }
  if (name == "jitter") {
    return parse_time(value, plan.path.jitter);
  }
  if (name == "rate") {
    return parse_size(value, kLeastRate, plan.path.rate);
  }
  if (name == "queue") {
    return parse_size(value, kLeastQueue, plan.path.queue_bytes);
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

Duration FaultDice::below(Duration limit) noexcept {
  return limit == Duration::zero()
             ? limit
             : Duration(static_cast<std::int64_t>(
                   roll() % static_cast<std::uint64_t>(limit.count() + 1)));
}

void FaultDice::damage(std::span<std::byte> bytes) noexcept {
  const std::uint64_t bit = roll() % (bytes.size() * 8);
  bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
}

}  // namespace acp::udp
