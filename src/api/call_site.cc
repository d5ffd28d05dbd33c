// Walks the stack outwards, past the functions of the library, and asks
// addr2line for the line of the first frame behind them. A program that is
// linked with libacp.a has the library in its own file, so addr2line names all
// frames.
#include "api/call_site.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <new>
#include <span>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/unique_fd.h"

namespace acp::api {

namespace {

constexpr std::size_t kMostFrames = 64;
constexpr std::chrono::seconds kAddr2lineLimit{10};

/// A frame of the stack.
struct Frame {
  std::string file;           ///< The program or library that its code is in.
  std::uintptr_t offset = 0;  ///< The call's, as addr2line counts in the file.
  std::string function;       ///< "": not known.
  std::string line;           ///< "halo.c:42"; "": not known.
};

/// Whether the addresses in a file count from its own begin: a library, or a
/// position-independent program.
bool is_relocated(const char* file) {
  constexpr std::size_t kTypeAt = 16;  // e_type of an ELF header.
  constexpr char kSharedObject = 3;    // ET_DYN.
  std::array<char, kTypeAt + 1> head{};
  std::ifstream(file, std::ios::binary).read(head.data(), head.size());
  return head.back() == kSharedObject;
}

/// The dynamic linker knows the program by its name as it was called.
std::string path_of(const char* file) {
  std::error_code error;
  return std::string_view(file) == ::program_invocation_name
             ? std::filesystem::read_symlink("/proc/self/exe", error).string()
             : file;
}

/// From the innermost frame outwards. The dynamic linker gives the names that
/// it knows.
std::vector<Frame> stack_of_thread() {
  std::array<void*, kMostFrames> addresses{};
  const int depth =
      ::backtrace(addresses.data(), static_cast<int>(addresses.size()));
  std::vector<Frame> frames;
  for (void* const address :
       std::span(addresses).first(static_cast<std::size_t>(depth))) {
    ::Dl_info info{};
    Frame& frame = frames.emplace_back();
    if (::dladdr(address, &info) == 0 || info.dli_fname == nullptr) {
      continue;
    }
    // The word is where the call returns to, so the call ends in front of it.
    const auto call = reinterpret_cast<std::uintptr_t>(address) - 1;
    frame.file = path_of(info.dli_fname);
    const bool is_moved = is_relocated(frame.file.c_str());
    frame.offset = is_moved
                       ? call - reinterpret_cast<std::uintptr_t>(info.dli_fbase)
                       : call;
    frame.function = info.dli_sname == nullptr ? "" : info.dli_sname;
  }
  return frames;
}

/// The output of a command, as far as it has come when the time is over.
std::string output_of(const std::vector<std::string>& words) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return {};
  }
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, writer.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
                                     O_WRONLY, 0);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, arguments.front(), &actions, nullptr,
                                   arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return {};
  }
  writer.reset();
  std::string output;
  const TimePoint end = SteadyClock().now() + kAddr2lineLimit;
  std::array<char, 4096> bytes{};
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - SteadyClock().now());
    ::pollfd ready{reader.get(), POLLIN, 0};
    if (left.count() <= 0 ||
        ::poll(&ready, 1, static_cast<int>(left.count())) <= 0) {
      break;
    }
    const ssize_t got = ::read(reader.get(), bytes.data(), bytes.size());
    if (got <= 0) {
      break;
    }
    output.append(bytes.data(), static_cast<std::size_t>(got));
  }
  ::kill(child, SIGKILL);  // Its output is here, or the time is over.
  ::waitpid(child, nullptr, 0);
  return output;
}

std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// The last part of a path.
std::string_view name_of_file(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// Headers of the library have inline functions, which are no line of the
/// program.
bool is_in_header(std::string_view place) {
  return place.find("/acp/") != std::string_view::npos &&
         place.find(".hpp:") != std::string_view::npos;
}

/// Takes the answer for one address: a pair of lines for each function that is
/// inlined there, and one for the function that has them all.
void take_names(std::string_view& answers, Frame& frame) {
  while (!answers.empty() && !answers.starts_with("0x")) {
    const std::string_view function = next_line(answers);
    std::string_view place = next_line(answers);
    place = place.substr(0, place.find(" (discriminator"));
    if (frame.line.empty() && !place.starts_with("??") &&
        !place.ends_with(":?") && !is_in_header(place)) {
      frame.line = name_of_file(place);
      frame.function = function;
    } else if (frame.function.empty() && function != "??") {
      frame.function = function;
    }
  }
}

/// Fills in names and lines of the frames in `file`. Whether there
/// is an addr2line.
bool ask_addr2line(const std::string& file, std::span<Frame> frames) {
  std::vector<std::string> words = {"addr2line", "-aifC", "-e", file};
  std::vector<Frame*> asked;
  for (Frame& frame : frames) {
    if (frame.file == file) {
      words.push_back(fmt::format("{:#x}", frame.offset));
      asked.push_back(&frame);
    }
  }
  const std::string output = output_of(words);
  std::string_view answers = output;
  for (Frame* frame : asked) {
    next_line(answers);  // The address.
    take_names(answers, *frame);
  }
  return !output.empty();
}

/// Whether this is a function that programs call, or the library's own.
bool is_ours(const Frame& frame) {
  constexpr std::array<std::string_view, 7> kNames = {
      "acp_", "acpx_", "acp::", "iacp", "QMP_", "__acp_MOD_", "__qmp_MOD_"};
  constexpr std::array<std::string_view, 4> kFiles = {"libacp", "libqmp",
                                                      "liblqcd", "libscu"};
  const auto begins = [](std::string_view text) {
    return [text](std::string_view begin) {
      return text.starts_with(begin);
    };
  };
  return std::ranges::any_of(kNames, begins(frame.function)) ||
         std::ranges::any_of(kFiles, begins(name_of_file(frame.file)));
}

/// The C library, or that of C++, begins threads.
bool begins_threads(const Frame& frame) {
  const std::string_view name = name_of_file(frame.file);
  return name.starts_with("libc.") || name.starts_with("libstdc++.");
}

/// The first frame behind the outermost one that is ours; null: none is, or the
/// thread is one of the library's.
Frame* caller_in(std::vector<Frame>& frames) {
  const auto ours = std::find_if(frames.rbegin(), frames.rend(), is_ours);
  if (ours == frames.rend() || ours == frames.rbegin()) {
    return nullptr;
  }
  Frame& caller = *std::prev(ours);
  return caller.file.empty() || begins_threads(caller) ? nullptr : &caller;
}

std::string describe(const Frame& frame, bool has_addr2line) {
  if (!frame.line.empty()) {
    return fmt::format("{}() at {}", frame.function, frame.line);
  }
  return fmt::format("{}+{:#x} ({})", name_of_file(frame.file), frame.offset,
                     has_addr2line
                         ? "compile with -g to see the line"
                         : "install binutils, whose addr2line tells the line");
}

std::string find_call_site() {
  std::vector<Frame> frames = stack_of_thread();
  if (frames.empty()) {
    return {};
  }
  // The first frame is of this file.
  const std::string library = frames.front().file;
  Frame* caller = caller_in(frames);
  bool has_addr2line = true;
  if (caller == nullptr || caller->file == library) {
    has_addr2line = ask_addr2line(library, frames);
    caller = caller_in(frames);
  } else {
    has_addr2line = ask_addr2line(caller->file, std::span(caller, 1));
  }
  return caller == nullptr ? "" : describe(*caller, has_addr2line);
}

}  // namespace

std::string call_site() noexcept {
  try {
    return find_call_site();
  } catch (const std::bad_alloc&) {
    return {};
  }
}

}  // namespace acp::api
