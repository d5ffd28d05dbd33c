// Measures what tags and encryption cost: nanoseconds for a datagram, by each
// library that this machine has. docs/performance.md has its table.
//
//   tag_perf [MILLISECONDS]     for each figure, 200 without an argument
//
// A figure is the least of five turns, so other work of the machine counts
// little. The libraries are measured in turn.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/secret_memory.h"
#include "transport/aes_module.h"
#include "udp/sodium_aes_gcm.h"

namespace {

using acp::SecretArray;
using acp::transport::AesGcm;
using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::duration<double, std::nano>;

constexpr std::size_t kClearBytes = 56;  ///< The header and the tag's place.
constexpr int kTurns = 5;
/// A signal, a small message, datagrams of MTU 1,500 and 9,000, and of the
/// loopback interface.
constexpr std::array<std::size_t, 6> kSizes = {100,   500,   1'400,
                                               4'096, 8'972, 60'000};

/// The time of one call of `act`, as a mean over a turn.
template <typename Action>
double turn(Nanoseconds limit, Action act) {
  const Clock::time_point begin = Clock::now();
  std::size_t calls = 0;
  Nanoseconds passed{};
  do {
    for (int i = 0; i < 64; ++i) {
      act();
    }
    calls += 64;
    passed = Clock::now() - begin;
  } while (passed < limit);
  return passed.count() / static_cast<double>(calls);
}

/// A library with a key, and the buffers of a datagram.
class Candidate {
 public:
  explicit Candidate(const AesGcm& aes)
      : aes_(aes),
        schedule_(acp::make_secret_array<std::byte>(aes.schedule_bytes())) {
    aes.expand({1, 2, 3}, schedule_.get());
  }

  std::string_view library() const { return aes_.library(); }

  double tag(std::size_t size, Nanoseconds limit) {
    const AesGcm::Piece clear = AesGcm::Piece(plain_).first(size);
    return turn(limit, [&] {
      nonce_[0] ^= std::to_integer<unsigned char>(
          aes_.tag(schedule_.get(), nonce_, std::span(&clear, 1))[0]);
    });
  }

  double seal(std::size_t size, Nanoseconds limit) {
    const AesGcm::Piece clear = AesGcm::Piece(plain_).first(kClearBytes);
    const AesGcm::Piece body =
        AesGcm::Piece(plain_).subspan(kClearBytes, size - kClearBytes);
    return turn(limit, [&] {
      nonce_[0] ^= std::to_integer<unsigned char>(
          aes_.seal(schedule_.get(), nonce_, clear, std::span(&body, 1),
                    cipher_.data())[0]);
    });
  }

 private:
  const AesGcm& aes_;
  SecretArray<std::byte> schedule_;
  AesGcm::Nonce nonce_{};
  std::vector<std::byte> plain_ = std::vector<std::byte>(kSizes.back());
  std::vector<std::byte> cipher_ = std::vector<std::byte>(kSizes.back());
};

void print_row(const char* what,
               std::size_t size,
               std::vector<Candidate>& candidates,
               Nanoseconds limit,
               double (Candidate::*measure)(std::size_t, Nanoseconds)) {
  std::vector<double> least(candidates.size(), 1e300);
  for (int each = 0; each < kTurns; ++each) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      least[i] = std::min(least[i], (candidates[i].*measure)(size, limit));
    }
  }
  std::printf("%-10s %6zu", what, size);
  for (const double nanoseconds : least) {
    std::printf("  %22.0f", nanoseconds);
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const double milliseconds = argc > 1 ? std::strtod(argv[1], nullptr) : 200;
  const Nanoseconds limit(milliseconds * 1e6 / kTurns);
  const char* folders = std::getenv("ACP_MODULE_PATH");
  const auto module =
      acp::transport::load_aes_module(folders == nullptr ? "" : folders);
  std::vector<Candidate> candidates;
  for (const AesGcm* aes : {acp::udp::sodium_aes_gcm(), module.aes}) {
    if (aes != nullptr) {
      candidates.emplace_back(*aes);
    }
  }
  if (module.aes == nullptr) {
    std::printf("without intel-ipsec-mb: %s\n", module.why.c_str());
  }
  std::printf("ns          bytes");
  for (const Candidate& candidate : candidates) {
    std::printf("  %22s", std::string(candidate.library()).c_str());
  }
  std::printf("\n");
  for (const std::size_t size : kSizes) {
    print_row("tag", size, candidates, limit, &Candidate::tag);
  }
  for (const std::size_t size : kSizes) {
    print_row("encryption", size, candidates, limit, &Candidate::seal);
  }
  return 0;
}
