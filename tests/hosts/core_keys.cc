// Looks for the keys of a job in the core dumps of its processes.
// secrets.sh starts it as the user of the job:
//
//   core_keys memory RANK SECRET PROCESS...   the mappings that a core dump
//       would have. Writes the secret of the job to the file SECRET.
//   core_keys crash PROCESS        makes the kernel write a core dump
//   core_keys files SECRET FILE... core dumps
//
// RANK is a process of the job. Its host segment has the secret, and all keys
// are derived from it. The keys have to be found there, in memory that no core
// dump has: otherwise the search would show nothing. Exits with 1 when a key,
// or half of one, is found in another place, and with 77 where a crash cannot
// be made.
#include <fcntl.h>
#include <sodium.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "protocol/host_segment.h"

namespace {

using acp::UniqueFd;
using acp::protocol::HostHeader;

/// A mapping of a process, from /proc/PID/smaps.
struct Mapping {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string name;
  bool is_readable = false;
  bool is_in_core_dump = true;  ///< Without the flag "dd".
};

std::vector<Mapping> mappings_of(const std::string& process) {
  std::vector<Mapping> mappings;
  std::ifstream file("/proc/" + process + "/smaps");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    char dash = 0;
    std::string rights, offset, device, inode, name;
    if (words >> std::hex >> begin >> dash >> end >> rights >> offset >>
            device >> inode &&
        dash == '-') {
      std::getline(words >> std::ws, name);
      mappings.push_back({begin, end, name, rights[0] == 'r'});
    } else if (line.starts_with("VmFlags:") && !mappings.empty()) {
      mappings.back().is_in_core_dump = line.find(" dd") == std::string::npos;
    }
  }
  return mappings;
}

/// The bytes, without the pages that cannot be read.
std::string read_memory(const std::string& process,
                        std::uint64_t begin,
                        std::uint64_t end) {
  constexpr std::uint64_t kPiece = 1 << 20;
  const UniqueFd memory(
      ::open(("/proc/" + process + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  std::string bytes;
  for (std::uint64_t at = begin; at < end; at += kPiece) {
    const std::uint64_t size = std::min(kPiece, end - at);
    std::string piece(size, '\0');
    const ssize_t n =
        ::pread(memory.get(), piece.data(), size, static_cast<off_t>(at));
    if (n > 0) {
      bytes.append(piece, 0, static_cast<std::size_t>(n));
    }
  }
  return bytes;
}

/// A text that the search may not find, and its name.
struct Needle {
  std::string what;
  std::string bytes;
};

std::size_t count_of(std::string_view bytes, std::string_view needle) {
  std::size_t count = 0;
  for (std::size_t at = bytes.find(needle); at != std::string_view::npos;
       at = bytes.find(needle, at + 1)) {
    ++count;
  }
  return count;
}

/// The secret of the host segment that a rank has mapped; "" where none has it.
std::string secret_of(const std::string& rank) {
  for (const Mapping& one : mappings_of(rank)) {
    HostHeader header{};
    if (!one.name.starts_with("/memfd:acp") ||
        one.end - one.begin < sizeof header) {
      continue;
    }
    const std::string bytes =
        read_memory(rank, one.begin, one.begin + sizeof header);
    if (bytes.size() != sizeof header) {
      continue;
    }
    std::memcpy(static_cast<void*>(&header), bytes.data(), sizeof header);
    if (header.magic == acp::protocol::kHostMagic) {
      const std::uint64_t at = one.begin + header.secret_offset;
      return read_memory(rank, at, at + sizeof(acp::protocol::JobSecret));
    }
  }
  return "";
}

/// The secret and the keys of the first two colors, whole and by halves.
/// Numbers and context are those of docs/udp_wire.md.
std::vector<Needle> needles_of(const std::string& secret) {
  std::vector<Needle> whole = {{"the secret", secret}};
  for (const auto& [number, what] : {std::pair{1, "an AES key"},
                                     {2, "an AES key of color 1"},
                                     {257, "a ChaCha20 key"},
                                     {258, "a ChaCha20 key of color 1"}}) {
    std::string key(32, '\0');
    (void)crypto_kdf_derive_from_key(
        reinterpret_cast<unsigned char*>(key.data()), key.size(), number,
        "acp-udp2", reinterpret_cast<const unsigned char*>(secret.data()));
    whole.push_back({what, key});
  }
  std::vector<Needle> all;
  for (const Needle& one : whole) {
    for (const std::size_t half : {0U, 16U}) {
      all.push_back({"half of " + one.what, one.bytes.substr(half, 16)});
    }
  }
  return all;
}

/// Prints each needle that is found; true: none.
bool is_clean(const std::string& where,
              std::string_view bytes,
              const std::vector<Needle>& needles) {
  bool is_clean = true;
  for (const Needle& needle : needles) {
    if (const std::size_t count = count_of(bytes, needle.bytes); count > 0) {
      std::printf("%s: %s, %zu times\n", where.c_str(), needle.what.c_str(),
                  count);
      is_clean = false;
    }
  }
  return is_clean;
}

/// The keys of color 0 and the secret are in memory of the rank that no core
/// dump has.
bool has_keys_in_secret_memory(const std::string& rank,
                               const std::vector<Needle>& needles) {
  std::string hidden;
  for (const Mapping& one : mappings_of(rank)) {
    const bool may_have_keys =
        !one.is_in_core_dump && one.is_readable &&
        (one.name.empty() || one.end - one.begin <= std::size_t{64} << 10);
    if (may_have_keys) {
      hidden += read_memory(rank, one.begin, one.end);
    }
  }
  const std::string secret = needles[0].bytes + needles[1].bytes;
  const std::string aes = needles[2].bytes + needles[3].bytes;
  const std::string chacha = needles[6].bytes + needles[7].bytes;
  const bool has_aes =
      count_of(hidden, aes) > 0 || crypto_aead_aes256gcm_is_available() == 0;
  return has_aes && count_of(hidden, chacha) > 0 && secret_of(rank) == secret &&
         count_of(secret, std::string(8, 0)) == 0;
}

bool is_memory_clean(const std::string& process,
                     const std::vector<Needle>& needles) {
  bool is_all_clean = true;
  std::size_t searched = 0;
  for (const Mapping& one : mappings_of(process)) {
    if (!one.is_in_core_dump || !one.is_readable || one.name == "[vvar]" ||
        one.name == "[vsyscall]") {
      continue;
    }
    const std::string bytes = read_memory(process, one.begin, one.end);
    searched += bytes.size();
    is_all_clean &=
        is_clean("process " + process + ", " + one.name, bytes, needles);
  }
  std::printf("process %s: %zu bytes\n", process.c_str(), searched);
  return is_all_clean && searched > 0;
}

/// The content of a file.
std::string read_file(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

bool is_file_clean(const std::string& file,
                   const std::vector<Needle>& needles) {
  const std::string bytes = read_file(file);
  std::printf("%s: %zu bytes\n", file.c_str(), bytes.size());
  return bytes.size() > 4096 && is_clean(file, bytes, needles);
}

/// Sends the process to an address that is not mapped. The kernel then ends it
/// by SIGSEGV, which a process cannot block there, and writes a core dump.
int crash(pid_t process) {
#if defined(__x86_64__)
  if (::ptrace(PTRACE_SEIZE, process, nullptr, nullptr) != 0 ||
      ::ptrace(PTRACE_INTERRUPT, process, nullptr, nullptr) != 0 ||
      ::waitpid(process, nullptr, __WALL) != process) {
    std::perror("ptrace");
    return 1;
  }
  user_regs_struct registers{};
  if (::ptrace(PTRACE_GETREGS, process, nullptr, &registers) != 0) {
    std::perror("PTRACE_GETREGS");
    return 1;
  }
  registers.rip = 16;
  registers.orig_rax = static_cast<unsigned long long>(-1);
  if (::ptrace(PTRACE_SETREGS, process, nullptr, &registers) != 0 ||
      ::ptrace(PTRACE_DETACH, process, nullptr, nullptr) != 0) {
    std::perror("PTRACE_SETREGS");
    return 1;
  }
  return 0;
#else
  std::printf("skipped: no crash for this processor (%d)\n", process);
  return 77;
#endif
}

int search_memory(const std::string& rank,
                  const std::string& secret_file,
                  const std::vector<std::string>& processes) {
  const std::string secret = secret_of(rank);
  if (secret.size() != sizeof(acp::protocol::JobSecret)) {
    std::printf("process %s has no host segment\n", rank.c_str());
    return 1;
  }
  std::ofstream(secret_file, std::ios::binary) << secret;
  const std::vector<Needle> needles = needles_of(secret);
  bool is_good = has_keys_in_secret_memory(rank, needles);
  if (!is_good) {
    std::printf("process %s has no keys in secret memory\n", rank.c_str());
  }
  for (const std::string& process : processes) {
    is_good &= is_memory_clean(process, needles);
  }
  return is_good ? 0 : 1;
}

int search_files(const std::string& secret_file,
                 const std::vector<std::string>& files) {
  const std::string secret = read_file(secret_file);
  if (secret.size() != sizeof(acp::protocol::JobSecret)) {
    return 2;
  }
  bool is_good = !files.empty();
  for (const std::string& file : files) {
    is_good &= is_file_clean(file, needles_of(secret));
  }
  return is_good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 2 || sodium_init() < 0) {
    return 2;
  }
  if (words[0] == "crash") {
    return crash(static_cast<pid_t>(std::strtol(argv[2], nullptr, 10)));
  }
  if (words[0] == "memory" && words.size() > 3) {
    return search_memory(words[1], words[2], {words.begin() + 3, words.end()});
  }
  return words[0] == "files"
             ? search_files(words[1], {words.begin() + 2, words.end()})
             : 2;
}
