// The main program of a fuzz target without libFuzzer. It runs every seed of
// the folders, then a series of mutated seeds that is equal on every run.
//
//   fuzz_NAME <mutations> <number of the series> <folder of seeds>...
//
// When the target fails, the input goes to stderr as hex.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

constexpr std::size_t kMaxInputBytes = 4096;

/// The input that the target has now; the signal handler prints it.
const Input* current_input = nullptr;

/// The signal handler. It calls write(2) only, which is async-signal-safe.
void print_input(int signal) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr std::string_view kTitle = "\nfailed on input: ";
  (void)!::write(STDERR_FILENO, kTitle.data(), kTitle.size());
  for (const std::uint8_t byte : *current_input) {
    const std::array<char, 2> hex = {kDigits[byte >> 4], kDigits[byte & 15]};
    (void)!::write(STDERR_FILENO, hex.data(), hex.size());
  }
  (void)!::write(STDERR_FILENO, "\n", 1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::vector<Input> read_seeds(std::span<const char* const> folders) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const char* folder : folders) {
    for (const auto& entry :
         std::filesystem::directory_iterator(folder, error)) {
      paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Input> seeds;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file),
                       std::istreambuf_iterator<char>());
  }
  return seeds;
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t series) : random_(series) {}

  /// A changed copy of one of `seeds`, which is not empty.
  Input next(const std::vector<Input>& seeds) {
    Input input = seeds[below(seeds.size())];
    for (std::size_t changes = 1 + below(5); changes > 0; --changes) {
      change(input, seeds[below(seeds.size())]);
    }
    input.resize(std::min(input.size(), kMaxInputBytes));
    return input;
  }

 private:
  std::size_t below(std::size_t limit) {
    return limit == 0 ? 0 : random_() % limit;
  }

  void change(Input& input, const Input& other) {
    const std::size_t at = below(input.size());
    switch (input.empty() ? 4 : below(7)) {
      case 0: input[at] ^= static_cast<std::uint8_t>(1U << below(8)); break;
      case 1: input[at] = static_cast<std::uint8_t>(random_()); break;
      case 2: write_number(input, at); break;
      case 3: input.resize(at); break;
      case 4: input.push_back(static_cast<std::uint8_t>(random_())); break;
      case 5:
        input.erase(input.begin() + static_cast<std::ptrdiff_t>(at));
        break;
      default: splice(input, at, other); break;
    }
  }

  /// Numbers at which comparisons and additions go wrong.
  void write_number(Input& input, std::size_t at) {
    constexpr std::array<std::uint64_t, 8> kNumbers = {
        0, 1, 0x7f, 0xff, 0xffff, 0x7fffffff, 0xffffffff, UINT64_MAX};
    const std::uint64_t number = kNumbers[below(kNumbers.size())];
    const std::size_t width = std::size_t{1} << below(4);
    std::memcpy(input.data() + at, &number, std::min(width, input.size() - at));
  }

  void splice(Input& input, std::size_t at, const Input& other) {
    const Input tail(
        other.begin() + static_cast<std::ptrdiff_t>(below(other.size())),
        other.end());
    input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), tail.begin(),
                 tail.end());
  }

  std::mt19937_64 random_;
};

bool parse(std::string_view text, std::uint64_t& number) {
  return std::from_chars(text.data(), text.data() + text.size(), number).ec ==
         std::errc();
}

void run(const Input& input) {
  current_input = &input;
  LLVMFuzzerTestOneInput(input.data(), input.size());
}

}  // namespace

/// Seeds come before mutations: a failing seed is easier to read.
int main(int argc, char** argv) {
  std::uint64_t mutations = 0;
  std::uint64_t series = 0;
  if (argc < 4 || !parse(argv[1], mutations) || !parse(argv[2], series)) {
    fmt::print(stderr, "usage: {} <mutations> <series> <seeds>...\n", argv[0]);
    return 2;
  }
  const std::vector<Input> seeds =
      read_seeds(std::span(argv, static_cast<std::size_t>(argc)).subspan(3));
  if (seeds.empty()) {
    fmt::print(stderr, "{} has no seeds; run fuzz_make_seeds\n", argv[3]);
    return 1;
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    std::signal(signal, print_input);
  }
  for (const Input& seed : seeds) {
    run(seed);
  }
  Mutator mutator(series);
  for (std::uint64_t i = 0; i < mutations; ++i) {
    run(mutator.next(seeds));
  }
  fmt::print("{} seeds, {} mutations\n", seeds.size(), mutations);
  return 0;
}
