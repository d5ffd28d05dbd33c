// kmer in C++: counts the substrings of length K of the reads in a FASTA file,
// and joins them to the sequences that the reads came from, as kmer.c does.
//
// Shows: a map as a graph. Every k-mer with the base behind it is a key, and
// its value counts how often it was seen. Ranks count and search at the same
// time; rank 0 walks, and compares with a std::map.
//
//   make_reads.sh >reads.fasta
//   acprun -np 4 kmer_cpp reads.fasta
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <acp/acp.hpp>

namespace {

constexpr std::size_t kLength = 21;
using key = std::array<char, kLength + 1>;  // a k-mer and the base behind it
using counts = acp::map<key, std::uint64_t>;
using table = std::map<key, std::uint64_t>;

std::vector<std::string> read_fasta(const char* name) {
  std::vector<std::string> reads;
  std::ifstream file(name);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('>')) {
      reads.emplace_back();
    } else if (!reads.empty()) {
      for (const char c : line) {
        reads.back() += static_cast<char>(std::toupper(c));
      }
    }
  }
  if (reads.empty()) acp::abort("the file has no reads");
  return reads;
}

/// Calls `use` with each place of a read.
template <typename Use>
void for_each_key(const std::string& read, const Use& use) {
  for (std::size_t i = 0; i + kLength < read.size(); ++i) {
    key k;
    std::copy_n(&read[i], k.size(), k.begin());
    use(k);
  }
}

/// `bases` with each of the four bases before or behind it.
enum class side { before, behind };

std::array<key, 4> neighbours(std::string_view bases, side where) {
  std::array<key, 4> four;
  for (std::size_t i = 0; i < 4; ++i) {
    const bool is_before = where == side::before;
    std::copy_n(bases.data(), kLength, four[i].begin() + (is_before ? 1 : 0));
    (is_before ? four[i].front() : four[i].back()) = "ACGT"[i];
  }
  return four;
}

/// The bases with which the map has one of four keys: four look-ups in one
/// flight. The second form asks the serial table.
std::string present(const counts& graph, const std::array<key, 4>& four) {
  std::string bases;
  const auto values = graph.ptrs(four);
  for (std::size_t i = 0; i < 4; ++i) {
    if (values[i]) bases += "ACGT"[i];
  }
  return bases;
}

std::string present(const table& graph, const std::array<key, 4>& four) {
  std::string bases;
  for (std::size_t i = 0; i < 4; ++i) {
    if (graph.contains(four[i])) bases += "ACGT"[i];
  }
  return bases;
}

/// Whether no k-mer leads to this one.
bool is_start(const auto& graph, const key& k) {
  return present(graph, neighbours({k.data(), kLength}, side::before)).empty();
}

/// From a k-mer on, as long as there is one way to go.
std::string walk(const auto& graph, const key& start, std::size_t most) {
  std::string contig(start.data(), kLength);
  while (contig.size() < most) {
    const std::string_view last =
        std::string_view(contig).substr(contig.size() - kLength);
    const std::string next = present(graph, neighbours(last, side::behind));
    if (next.size() != 1) break;
    contig += next;
  }
  return contig;
}

/// Rank 0, while the other ranks change nothing.
bool compare(const counts& graph,
             const acp::vector<key>& starts,
             const std::vector<std::string>& reads) {
  table expected;
  std::size_t bases = 0;
  for (const std::string& read : reads) {
    bases += read.size() + 1;
    for_each_key(read, [&](const key& k) { ++expected[k]; });
  }
  bool is_equal = graph.size() == expected.size();
  std::ptrdiff_t expected_starts = 0;
  for (const auto& [k, count] : expected) {
    is_equal &= graph.find(k) == count;
    expected_starts += is_start(expected, k) ? 1 : 0;
  }
  std::size_t longest = 0;
  for (const key& k : starts) {
    const std::string contig = walk(graph, k, bases);
    is_equal &= contig == walk(expected, k, bases);
    longest = std::max(longest, contig.size());
    --expected_starts;
  }
  is_equal &= expected_starts == 0;
  std::printf("%zu reads, %zu k-mers with what follows\n", reads.size(),
              expected.size());
  std::printf("%zu contigs, the longest of %zu bases\n", starts.size(),
              longest);
  std::fputs(
      is_equal ? "equal to a serial run\n" : "DIFFERS from a serial run\n",
      stderr);
  return is_equal;
}

}  // namespace

int main(int argc, char** argv) {
  const acp::job job(argc, argv);
  if (argc != 2) acp::abort("usage: kmer_cpp FILE, of reads in FASTA");
  const auto reads = read_fasta(argv[1]);
  const auto rank = static_cast<std::size_t>(job.rank());
  const auto ranks = static_cast<std::size_t>(job.ranks());
  const int slots = static_cast<int>(reads.size() * 25 / ranks) + 1;
  auto graph = acp::share("graph", 0, [&] { return counts(slots); });
  auto starts = acp::share("starts", 0, [] { return acp::vector<key>(0); });

  for (std::size_t i = rank; i < reads.size(); i += ranks) {
    for_each_key(reads[i], [&](const key& k) { graph.add(k, 1); });
  }
  job.sync();
  for (const auto& [k, count] : graph.local()) {
    if (is_start(graph, k)) starts.push_back(k);
  }
  job.sync();
  const bool is_equal = rank != 0 || compare(graph, starts, reads);
  job.sync();
  return is_equal ? 0 : 1;
}
