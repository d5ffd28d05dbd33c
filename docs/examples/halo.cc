// halo in C++: heat that spreads over a square plate, with the rows of the
// plate divided among the ranks, as halo.c does; the result is equal to the
// last bit.
//
// Shows: published addresses, and puts with a signal. A rank puts its outermost
// rows into its neighbours' plates, and they sleep until their counters move.
//
//   acprun -np 4 halo_cpp [ROWS [STEPS]]
#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <acp/acp.hpp>

namespace {

using counter = acp::global_ptr<std::uint64_t>;

/// The memory that a rank publishes. Two plates: a step reads one and writes
/// the other. Row 0 and the row behind the last are the halo.
struct area {
  std::array<acp::global_ptr<double>, 2> plates;
  counter from_above, from_below;
  std::size_t rows;  ///< Without the halo.
};

struct shape {
  std::size_t size;   ///< Rows, and columns, of the whole plate.
  std::size_t width;  ///< Points of a row in memory, both edges too.

  std::size_t first_row(int rank, int ranks) const {
    return size * static_cast<std::size_t>(rank) /
           static_cast<std::size_t>(ranks);
  }
};

/// The upper edge of the whole plate is hot, all else is cold.
void set_start(std::span<double> plate, std::size_t width, bool has_top) {
  std::ranges::fill(plate, 0.0);
  if (has_top) std::ranges::fill(plate.first(width), 100.0);
}

void compute_step(double* to,
                  const double* from,
                  std::size_t rows,
                  std::size_t w) {
  for (std::size_t y = 1; y <= rows; ++y) {
    for (std::size_t at = y * w + 1; at + 1 < (y + 1) * w; ++at) {
      to[at] = 0.25 *
               (((from[at - w] + from[at + w]) + from[at - 1]) + from[at + 1]);
    }
  }
}

/// A sum of a hash of each point's bits and place: its parts can be added in
/// any order.
std::uint64_t checksum_of(const double* plate,
                          std::size_t rows,
                          std::size_t w,
                          std::size_t first) {
  std::uint64_t sum = 0;
  for (std::size_t y = 1; y <= rows; ++y) {
    for (std::size_t x = 1; x + 1 < w; ++x) {
      auto bits = std::bit_cast<std::uint64_t>(plate[y * w + x]);
      bits ^= ((first + y) * w + x) * 0x9e3779b97f4a7c15;
      bits *= 0xd6e8feb86659fd93;
      sum += bits ^ bits >> 32;
    }
  }
  return sum;
}

std::string name_of(int rank) {
  return "area of " + std::to_string(rank);
}

/// Sleeps until a counter of mine has reached `count`.
void wait_for(counter word, std::uint64_t count) {
  for (std::uint64_t seen = 0; seen < count;)
    seen = acp::wait_word(word, seen);
}

/// Returns the checksum of the whole plate on rank 0.
std::uint64_t compute_together(const acp::job& job, const shape& s, int steps) {
  const std::size_t first = s.first_row(job.rank(), job.ranks());
  const std::size_t rows = s.first_row(job.rank() + 1, job.ranks()) - first;
  const std::size_t points = (rows + 2) * s.width;
  acp::registered<double> memory(2 * points);
  acp::registered<std::uint64_t> words(3);
  const std::array plates{memory.span().first(points),
                          memory.span().last(points)};
  for (const auto plate : plates)
    set_start(plate, s.width, job.rank() == 0);
  const area mine{{memory.ptr(), memory.ptr() + points},
                  words.ptr(),
                  words.ptr() + 1,
                  rows};
  acp::publish(name_of(job.rank()), mine);  // my plates are set: puts may come
  std::optional<area> above, below;
  if (job.rank() > 0) above = acp::lookup<area>(name_of(job.rank() - 1));
  if (job.rank() + 1 < job.ranks())
    below = acp::lookup<area>(name_of(job.rank() + 1));
  for (int step = 0; step < steps; ++step) {
    const int at = step % 2;
    const auto row = [&](std::size_t y) {
      return mine.plates[at] + y * s.width;
    };
    if (above) {
      acp::put_signal(above->plates[at] + (above->rows + 1) * s.width, row(1),
                      s.width, above->from_below);
    }
    if (below)
      acp::put_signal(below->plates[at], row(rows), s.width, below->from_above);
    if (above) wait_for(mine.from_above, step + 1);
    if (below) wait_for(mine.from_below, step + 1);
    acp::wait_all();  // rows that are on their way must not change
    compute_step(plates[1 - at].data(), plates[at].data(), rows, s.width);
  }
  const auto sum = acp::lookup<area>(name_of(0)).from_above + 2;
  acp::async_add(sum,
                 checksum_of(plates[steps % 2].data(), rows, s.width, first))
      .wait();
  job.sync();
  return job.rank() == 0 ? words[2] : 0;
}

std::uint64_t compute_alone(const shape& s, int steps) {
  std::array<std::vector<double>, 2> plates;
  for (auto& plate : plates) {
    plate.resize((s.size + 2) * s.width);
    set_start(plate, s.width, true);
  }
  for (int step = 0; step < steps; ++step) {
    compute_step(plates[(step + 1) % 2].data(), plates[step % 2].data(), s.size,
                 s.width);
  }
  return checksum_of(plates[steps % 2].data(), s.size, s.width, 0);
}

}  // namespace

int main(int argc, char** argv) {
  const acp::job job(argc, argv);
  const std::size_t size = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 256;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 200;
  if (size < static_cast<std::size_t>(job.ranks()) || steps < 1) {
    acp::abort(
        "usage: halo_cpp [ROWS [STEPS]], with a row or more for each rank");
  }
  const shape s{size, size + 2};
  const std::uint64_t sum = compute_together(job, s, steps);
  if (job.rank() != 0) return 0;
  const bool is_equal = sum == compute_alone(s, steps);
  std::printf("%zu x %zu points, %d steps: checksum %016llx\n", size, size,
              steps, static_cast<unsigned long long>(sum));
  return is_equal ? 0 : 1;
}
