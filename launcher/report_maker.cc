// Puts the report of a job together. Called by job.cc: at the start of a rank,
// for the counters of each rank at the end, and once when the job is over.
#include "launcher/report_maker.h"

#include <unistd.h>

#include "base/join_texts.h"
#include "base/printable.h"

namespace acp::launcher {

namespace {

std::vector<ChangedSetting> changed_settings(const Settings& settings) {
  std::vector<ChangedSetting> changed;
  const auto table = settings_table();
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::string& value = settings.text(static_cast<SettingId>(i));
    if (value != table[i].default_value) {
      changed.push_back({std::string(table[i].name), value,
                         std::string(table[i].default_value)});
    }
  }
  return changed;
}

/// Nothing happens without a path.
Status open_file(const std::string& path, std::optional<ReportFile>& file) {
  if (path.empty()) return Status::kOk;
  auto opened = ReportFile::open(path);
  if (opened.ok()) file = std::move(*opened);
  return opened.status();
}

}  // namespace

ReportMaker::ReportMaker(const JobPlan& plan) : plan_(plan) {
  if (!plan.orders.report_traffic) return;
  report_.version = ACP_VERSION;
  report_.program = join_texts(plan.options.command, " ");
  report_.pid = static_cast<std::uint32_t>(::getpid());
  report_.settings = changed_settings(plan.options.settings);
  report_.ranks.resize(plan.options.procs);
  for (const HostRanks& host : plan.hosts) {
    report_.hosts.push_back(host.name);
    for (const std::uint32_t rank : host.ranks.list())
      report_.ranks[rank].host = host.number;
  }
}

Status ReportMaker::open() {
  const Status status = open_file(plan_.options.stats_file, json_);
  return status == Status::kOk ? open_file(plan_.options.report_page, page_)
                               : status;
}

void ReportMaker::note_start(std::uint32_t rank, std::string_view cpus) {
  if (is_wanted()) report_.ranks[rank].cpus = printable(cpus);
}

void ReportMaker::take_counters(std::string_view bytes) {
  if (!is_wanted()) return;
  if (auto counters = decode_counters(bytes, plan_.options.procs)) {
    report_.ranks[counters->launch_rank].counters = std::move(*counters);
  }
}

void ReportMaker::note_counters(std::vector<RankCounters> counters) {
  if (!is_wanted()) return;
  for (RankCounters& one : counters)
    report_.ranks[one.launch_rank].counters = std::move(one);
}

std::string ReportMaker::finish(int status, std::string end) {
  if (!is_wanted()) return "";
  report_.status = status;
  report_.end = std::move(end);
  report_.elapsed_s =
      std::chrono::duration<double>(Clock::now() - start_).count();
  if (json_) json_->write(report_as_json(report_));
  if (page_) page_->write(report_as_page(report_));
  return plan_.options.stats ? counters_table(report_) : "";
}

}  // namespace acp::launcher
