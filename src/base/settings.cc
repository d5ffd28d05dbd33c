#include "base/settings.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

#include "base/log.h"

namespace acp {

namespace {

constexpr std::array<Setting, static_cast<std::size_t>(SettingId::kCount)>
    kTable = {{
        {"ACP_NET", "--acp-envnet", SettingKind::kChoice, "auto",
         "auto|shm|udp|ib|ucx|tofu", 0, 0,
         "Network between ranks: auto takes shared memory inside a host and "
         "udp between hosts, ib (or verbs) shared memory and RDMA devices; udp "
         "takes udp everywhere."},
        {"ACP_SHM", "", SettingKind::kChoice, "auto", "auto|off", 0, 0,
         "Shared memory between ranks of one host: off takes the network also "
         "there, as ACP_NET=udp does anyway."},
        {"ACP_STARTER_MEMORY", "--acp-startermemsize", SettingKind::kBytes,
         "10240", "", 0, std::uint64_t{1} << 33,
         "Bytes of starter memory of each rank."},
        {"ACP_HEAP_SIZE", "--acp-heapsize", SettingKind::kBytes, "1G", "",
         std::uint64_t{256} << 10, std::uint64_t{1} << 40,
         "Bytes of address space for each rank's heap, which acp_malloc "
         "allocates from; memory is taken when it is first touched."},
        {"ACP_MALLOC_CACHE", "", SettingKind::kChoice, "auto", "auto|on|off", 0,
         0,
         "Whether a rank keeps free blocks of the heaps it uses at hand: auto "
         "does when an eighth of a heap gives each rank 64 KiB; off takes the "
         "least memory, and each acp_malloc asks the heap."},
        {"ACP_MALLOC_DEBUG", "", SettingKind::kChoice, "off", "off|on", 0, 0,
         "Whether acp_free reports what is no live block and what was "
         "overrun, and acp_finalize lists what was never freed."},
        {"ACP_CH_BUFFER", "", SettingKind::kBytes, "64K", "",
         std::uint64_t{4} << 10, std::uint64_t{1} << 30,
         "Bytes that the receiver of a channel sets aside for messages that "
         "it has not yet asked for."},
        {"ACP_MODULE_MEMORY", "", SettingKind::kBytes, "64M", "", 0,
         std::uint64_t{1} << 33,
         "Bytes of address space that each rank sets aside for the modules "
         "of the program; memory is taken when it is first touched."},
        {"ACP_UDP_ADDRESSES", "", SettingKind::kText, "", "", 0, 0,
         "Local addresses for udp, separated by commas, IPv4 or IPv6: one "
         "color each. Empty: 127.0.0.1."},
        {"ACP_UDP_DATAGRAM", "", SettingKind::kBytes, "0", "", 0, 65000,
         "Largest UDP payload in bytes, 576 or more; 0 takes what suits the "
         "interface."},
        {"ACP_UDP_SILENCE", "", SettingKind::kNumber, "10", "", 0, 86'400,
         "Seconds without an answer after which udp takes a process for lost "
         "and the job ends; 0 waits for ever, for work with a debugger."},
        {"ACP_UDP_FAULTS", "", SettingKind::kText, "", "", 0, 0,
         "For tests: faults put into arriving udp packets, e.g. "
         "loss=0.05,duplicate=0.02,reorder=0.05,corrupt=0.01,seed=7."},
        {"ACP_VERBS_DEVICES", "", SettingKind::kText, "", "", 0, 0,
         "RDMA devices for ib, separated by commas, with or without a port: "
         "mlx5_0,mlx5_1:2; one color each. Empty: all that can be used."},
        {"ACP_VERBS_ATOMICS", "", SettingKind::kChoice, "agent", "agent|device",
         0, 0,
         "Who executes atomics of 8 bytes over ib: the CPU of the memory's "
         "owner, or its first RDMA device, which asks nobody there but is then "
         "between ranks of one host, too; the same for all ranks."},
        {"ACP_VERBS_ACK_TIMEOUT", "", SettingKind::kNumber, "1000", "", 1,
         60'000,
         "Milliseconds after which an RDMA device repeats what the other side "
         "has not acknowledged; rounded up to 4.096 microseconds times a power "
         "of two. A lost packet costs that much; a rank whose host is gone is "
         "noticed after ACP_VERBS_RETRIES + 1 times as much."},
        {"ACP_VERBS_RETRIES", "", SettingKind::kNumber, "6", "", 0, 7,
         "How often an RDMA device repeats what is not acknowledged before the "
         "connection fails and the job ends; rxe takes 7 for ever."},
        {"ACP_VERBS_RNR_TIMER", "", SettingKind::kNumber, "640", "", 10,
         655'360,
         "Microseconds after which an RDMA device repeats a message for which "
         "this rank had no receive buffer, as often as it takes; rounded up to "
         "a value of the InfiniBand specification. Matters with more than 227 "
         "connections on a device."},
        {"ACP_ATOMICS", "", SettingKind::kChoice, "cpu", "cpu|apart", 0, 0,
         "For tests, with ACP_NET=udp: apart has atomics done by the owner of "
         "the memory alone, asked by the wire even by itself, and as a "
         "network card does them: not atomic with those of a CPU."},
        {"ACP_CMA", "", SettingKind::kChoice, "auto", "auto|off", 0, 0,
         "Copies between registered memories on one host by "
         "process_vm_readv and writev: auto probes it, off goes through the "
         "owner's progress thread."},
        {"ACP_WAIT", "", SettingKind::kChoice, "auto", "auto|spin|yield|sleep",
         0, 0,
         "How a rank waits: auto spins for 50 us, or up to 1 ms after short "
         "sleeps, and then sleeps; it yields its core between looks after 50 "
         "us, or at once where ranks share cores. spin and yield never "
         "sleep, and spin yields only in acp_sync and for locks; sleep sleeps "
         "at once."},
        {"ACP_LOG", "", SettingKind::kChoice, "warning",
         "error|warning|info|debug|trace", 0, 0, "What is written to stderr."},
        {"ACP_ERRORS", "", SettingKind::kChoice, "report", "report|abort", 0, 0,
         "What follows an error: report writes a line and lets the call return "
         "its failure value; abort writes the line and ends the job."},
        {"ACP_STDOUT", "", SettingKind::kChoice, "line", "line|program", 0, 0,
         "How the standard output of a rank is buffered: line writes each line "
         "when it is complete, so that a killed rank loses none; program "
         "leaves it as the program has it."},
    }};

/// Names that the library, its launcher, its compiler wrappers and its tests
/// use among themselves.
constexpr std::array<std::string_view, 10> kInternalNames = {
    "ACP_BOOTSTRAP_FD", "ACP_RANK",       "ACP_PROCS",   "ACP_LOCAL_RANK",
    "ACP_LOCAL_PROCS",  "ACP_TEST_SCALE", "ACP_RDMA_VM", "ACP_JOBS",
    "ACP_CC",           "ACP_CXX"};

constexpr std::array<std::pair<std::string_view, SettingId>, 1> kOptionAliases =
    {{{"--acp-envent", SettingId::kNet}}};

/// Another word for a choice.
std::string_view without_alias(SettingId id, std::string_view text) {
  return id == SettingId::kNet && text == "verbs" ? "ib" : text;
}

const Setting& row(SettingId id) {
  return kTable[static_cast<std::size_t>(id)];
}

/// Which of the choices `text` is, from 0.
std::optional<std::uint64_t> choice_of(std::string_view choices,
                                       std::string_view text) {
  for (std::uint64_t i = 0; !choices.empty(); ++i) {
    const std::size_t bar = choices.find('|');
    if (choices.substr(0, bar) == text) {
      return i;
    }
    if (bar == std::string_view::npos) {
      break;
    }
    choices.remove_prefix(bar + 1);
  }
  return std::nullopt;
}

/// How many letters have to be changed, added, left out, or exchanged with the
/// next one, to make `b` of `a`. Words here are short.
std::size_t distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> table((a.size() + 1) * width);
  const auto at = [&table, width](std::size_t i,
                                  std::size_t j) -> std::size_t& {
    return table[i * width + j];
  };
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        at(i, j) = i + j;
        continue;
      }
      const std::size_t change = a[i - 1] != b[j - 1] ? 1 : 0;
      at(i, j) = std::min(
          {at(i - 1, j - 1) + change, at(i - 1, j) + 1, at(i, j - 1) + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
      }
    }
  }
  return at(a.size(), b.size());
}

/// Letters that differ in two words of this length when one is the other
/// misspelled. "ACP_" and "--acp-" do not count: all words have them.
std::size_t most_misspelled(std::string_view word) {
  for (const std::string_view prefix : {"ACP_", "--acp-", "--"}) {
    if (word.starts_with(prefix)) {
      word.remove_prefix(prefix.size());
      break;
    }
  }
  return std::max<std::size_t>(1, word.size() / 3);
}

}  // namespace

std::span<const Setting> settings_table() noexcept {
  return kTable;
}

bool is_net_built_in(std::string_view net) noexcept {
#ifdef ACP_HAS_VERBS
  const bool has_verbs = true;
#else
  const bool has_verbs = false;
#endif
  return net == "auto" || net == "shm" || net == "udp" ||
         (net == "ib" && has_verbs);
}

std::string_view nets_built_in() noexcept {
  return is_net_built_in("ib") ? "auto, shm, udp and ib" : "auto, shm and udp";
}

bool is_net_named(const Settings& settings) {
  const std::string& net = settings.text(SettingId::kNet);
  return net == "udp" || net == "ib";
}

bool is_net_everywhere(const Settings& settings) {
  const std::string& net = settings.text(SettingId::kNet);
  // What a device executes is atomic with nothing else on the host.
  const bool is_by_device =
      net == "ib" && settings.text(SettingId::kVerbsAtomics) == "device";
  return net == "udp" || is_by_device ||
         settings.text(SettingId::kShm) == "off";
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) noexcept {
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest == text.data()) {
    return std::nullopt;
  }
  unsigned shift = 0;
  if (rest != end) {
    static constexpr std::string_view kSuffixes = "KMGT";
    const char suffix = static_cast<char>(*rest & ~0x20);
    const std::size_t index = kSuffixes.find(suffix);
    if (index == std::string_view::npos || rest + 1 != end) {
      return std::nullopt;
    }
    shift = static_cast<unsigned>(10 * (index + 1));
  }
  if (number > (std::numeric_limits<std::uint64_t>::max() >> shift)) {
    return std::nullopt;
  }
  return number << shift;
}

Settings::Settings() {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    values_[i].text = kTable[i].default_value;
    values_[i].number = parse_bytes(kTable[i].default_value).value_or(0);
  }
}

Result<Settings> Settings::from_environment(const Lookup& lookup) {
  Settings settings;
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    const char* text = lookup(std::string(kTable[i].name).c_str());
    if (text == nullptr) {
      continue;
    }
    const Status status = settings.set(static_cast<SettingId>(i), text,
                                       SettingSource::kEnvironment);
    if (status != Status::kOk) {
      return status;
    }
  }
  return settings;
}

Status Settings::set(SettingId id,
                     std::string_view text,
                     SettingSource source) {
  const Setting& setting = row(id);
  text = without_alias(id, text);
  Value value{std::string(text), 0, source};
  const std::string_view shown =
      source == SettingSource::kOption ? setting.option : setting.name;
  switch (setting.kind) {
    case SettingKind::kText: break;
    case SettingKind::kChoice:
      if (!choice_of(setting.choices, text)) {
        log_error("{}={}: must be one of {}", shown, text,
                  id == SettingId::kNet ? nets_built_in() : setting.choices);
        return Status::kBadOption;
      }
      break;
    case SettingKind::kBytes:
    case SettingKind::kNumber: {
      const auto number = parse_bytes(text);
      if (!number || *number < setting.minimum || *number > setting.maximum) {
        log_error("{}={}: must be a number from {} to {}{}", shown, text,
                  setting.minimum, setting.maximum,
                  setting.kind == SettingKind::kBytes
                      ? " (bytes; K, M, G, T allowed)"
                      : "");
        return Status::kBadOption;
      }
      value.number = *number;
      break;
    }
  }
  values_[static_cast<std::size_t>(id)] = std::move(value);
  return Status::kOk;
}

const std::string& Settings::text(SettingId id) const {
  return values_[static_cast<std::size_t>(id)].text;
}

std::uint64_t Settings::choice(SettingId id) const {
  return choice_of(row(id).choices, text(id)).value_or(0);
}

std::uint64_t Settings::number(SettingId id) const {
  return values_[static_cast<std::size_t>(id)].number;
}

SettingSource Settings::source(SettingId id) const {
  return values_[static_cast<std::size_t>(id)].source;
}

SettingId setting_of_option(std::string_view option) noexcept {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (!kTable[i].option.empty() && kTable[i].option == option) {
      return static_cast<SettingId>(i);
    }
  }
  for (const auto& [alias, id] : kOptionAliases) {
    if (alias == option) {
      return id;
    }
  }
  return SettingId::kCount;
}

SettingId setting_named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (kTable[i].name == name) {
      return static_cast<SettingId>(i);
    }
  }
  return SettingId::kCount;
}

std::string_view nearest_word(std::string_view word,
                              std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t best_distance = most_misspelled(word) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t d = distance(word, candidate);
    if (d < best_distance) {
      best_distance = d;
      best = candidate;
    }
  }
  return best;
}

void warn_of_unknown_variables(char* const* environment) {
  std::vector<std::string_view> names(kInternalNames.begin(),
                                      kInternalNames.end());
  for (const Setting& setting : kTable) {
    names.push_back(setting.name);
  }
  for (char* const* entry = environment; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    if (!name.starts_with("ACP_") ||
        std::find(names.begin(), names.end(), name) != names.end()) {
      continue;
    }
    const std::string_view nearest = nearest_word(name, names);
    if (nearest.empty()) {
      log_warning("{} is no setting of ACP; acp_info lists them", name);
    } else {
      log_warning("{} is no setting of ACP; did you mean {}?", name, nearest);
    }
  }
}

}  // namespace acp
