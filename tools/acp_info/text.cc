// Makes text of the facts, which main.cc prints. People read it, so the text
// may change; programs take the JSON. It collects no fact itself.
#include "text.h"

#include <fmt/core.h>

namespace acp::info {

namespace {

constexpr std::size_t kLineWidth = 78;

/// Breaks a sentence at blanks; every line starts with `indent`.
std::string wrapped(const std::string& sentence, const std::string& indent) {
  std::string text = indent;
  std::size_t column = indent.size();
  std::size_t start = 0;
  while (start < sentence.size()) {
    const std::size_t end =
        std::min(sentence.find(' ', start), sentence.size());
    const std::string word = sentence.substr(start, end - start);
    if (column > indent.size() && column + 1 + word.size() > kLineWidth) {
      text += '\n' + indent;
      column = indent.size();
    } else if (column > indent.size()) {
      text += ' ';
      ++column;
    }
    text += word;
    column += word.size();
    start = end + 1;
  }
  return text + '\n';
}

/// Limits are like "16 GiB - 64 bytes": returns "16 GiB".
std::string rounded_bytes(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB",
                                           "GiB",   "TiB", "PiB"};
  std::size_t unit = 0;
  std::uint64_t value = bytes + 64;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", value, kUnits[unit]);
}

std::string quoted_if_empty(const std::string& value) {
  return value.empty() ? "(empty)" : value;
}

}  // namespace

std::string text_of(const std::vector<TransportFact>& transports) {
  std::string text = "Transports\n";
  for (const TransportFact& fact : transports) {
    const char* state =
        !fact.is_built ? fact.detail.empty() ? "not built in" : "not installed"
        : fact.is_usable ? "usable"
                         : "NOT USABLE HERE";
    text += fmt::format("  {:<6} {}{}{}\n", fact.name, state,
                        fact.detail.empty() ? "" : ": ", fact.detail);
    if (fact.is_built && !fact.module.empty()) {
      text += fmt::format("         module {}\n", fact.module);
    }
  }
  return text;
}

/// The text is empty on a machine without devices.
std::string text_of(const RdmaFact& rdma) {
  std::string text;
  for (const RdmaPort& port : rdma.ports) {
    text +=
        fmt::format("  {} {} ({})\n", port.name, port.state, port.link_layer);
    for (const PortGid& gid : port.gids) {
      text += fmt::format("      GID {:<3} {} {}{}{}\n", gid.index, gid.gid,
                          gid.type, gid.interface.empty() ? "" : ", ",
                          gid.interface);
    }
  }
  for (const RdmaLimits& limits : rdma.limits) {
    text += fmt::format(
        "  {} limits\n"
        "      queue pairs       max_qp {}, max_qp_wr {}, max_cqe {}\n"
        "      receive queues    max_srq {}, max_srq_wr {}\n"
        "      registrations     max_mr {}, max_mr_size {:#x}\n"
        "      atomics           {}; max_qp_rd_atom {}\n",
        limits.device, limits.max_qp, limits.max_qp_wr, limits.max_cqe,
        limits.max_srq, limits.max_srq_wr, limits.max_mr, limits.max_mr_size,
        limits.atomics, limits.max_qp_rd_atom);
  }
  return text.empty() ? text : "RDMA devices\n" + text + '\n';
}

std::string text_of(const Limits& limits) {
  return fmt::format(
      "Limits of a job of {} rank{} (acp_info --ranks N for others)\n"
      "  colors            up to {}\n"
      "  regions           {} registered by each rank\n"
      "  a region          up to {} (less 64 bytes)\n"
      "  global address    rank {} bits, color {}, generation {}, key {}, "
      "offset {}\n",
      limits.ranks, limits.ranks == 1 ? "" : "s", limits.colors_at_most,
      limits.regions_at_most, rounded_bytes(limits.region_bytes_at_most),
      limits.rank_bits, limits.color_bits, limits.generation_bits,
      limits.key_bits, limits.offset_bits);
}

std::string text_of(const std::vector<SettingFact>& settings) {
  std::string text;
  for (const SettingFact& fact : settings) {
    text += fmt::format("  {} = {}", fact.name, quoted_if_empty(fact.value));
    text += fact.source == "default"
                ? " (default)\n"
                : fmt::format(" ({}; default {})\n", fact.source,
                              quoted_if_empty(fact.default_value));
    if (!fact.option.empty()) {
      text += fmt::format("      acprun {}=...\n", fact.option);
    }
    if (!fact.choices.empty()) {
      text += fmt::format("      {}\n", fact.choices);
    }
    text += wrapped(fact.documentation, "      ");
  }
  return text;
}

std::string text_of(const AddressFact& address, const Limits& limits) {
  if (address.is_null) return "0x0: ACP_GA_NULL, no address\n";
  std::string text =
      fmt::format("{:#018x} in a job of {} rank{}\n", address.address,
                  limits.ranks, limits.ranks == 1 ? "" : "s");
  if (!address.is_rank_of_job) {
    return text + fmt::format(
                      "  no address of such a job: its rank field says {}; "
                      "is --ranks right?\n",
                      address.rank);
  }
  return text + fmt::format(
                    "  rank        {}\n  color       {}\n  key         {} "
                    "({})\n  generation  {}\n  offset      {:#x} ({})\n",
                    address.rank, address.color, address.key, address.region,
                    address.generation, address.offset, address.offset);
}

std::string text_of(const std::vector<Check>& checks) {
  std::string text;
  for (const Check& check : checks) {
    text += fmt::format("{:<9} {:<12} {}\n", state_name(check.state),
                        check.name, check.found);
    if (!check.fix.empty()) {
      text += fmt::format("{:<9} {:<12} to improve: {}\n", "", "", check.fix);
    }
  }
  return text;
}

}  // namespace acp::info
