// Makes the page of acprun --report: puts style, script and data into
// report_page/report.html. Called by report_maker.cc at the end of a job. Pure.
#include <string_view>

#include "launcher/job_report.h"
#include "launcher/report_texts.h"

namespace acp::launcher {

namespace {

/// In the text of a script element "</script>" and "<!--" would be markup. In
/// JSON a "<" stands only inside of strings, where it has a second spelling.
std::string without_markup(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (const char one : json) {
    if (one == '<') {
      text += "\\u003c";
    } else {
      text += one;
    }
  }
  return text;
}

/// Replaces the only `mark` in `page`. What is put in is not looked at again.
void put_in(std::string& page, std::string_view mark, std::string_view text) {
  page.replace(page.find(mark), mark.size(), text);
}

}  // namespace

/// The data come last: they may have any of the marks in them.
std::string report_as_page(const JobReport& report) {
  std::string page(kPageText);
  put_in(page, "@STYLE@", kStyleText);
  put_in(page, "@SCRIPT@", kScriptText);
  put_in(page, "@REPORT@", without_markup(report_as_json(report)));
  return page;
}

}  // namespace acp::launcher
