// The translation of docs/man into roff. Called by launcher_pages while the
// project is built; it knows only the Markdown that these pages use.
#include "launcher/man_page.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <vector>

namespace acp::launcher {

namespace {

constexpr std::string_view kBegin =
    "<!-- Written from the table of options; do not edit. -->\n";
constexpr std::string_view kEnd = "<!-- End of the options. -->\n";

/// A character that roff takes literally. Each "-" may be typed by a user, so
/// none becomes a typographic hyphen.
void append_plain(std::string& out, char c) {
  switch (c) {
    case '\\': out += "\\e"; break;
    case '-': out += "\\-"; break;
    case '\'': out += "\\(aq"; break;
    case '`': out += "\\(ga"; break;
    case '~': out += "\\(ti"; break;
    case '^': out += "\\(ha"; break;
    default: out += c;
  }
}

/// Code becomes bold, and of a link only its text stays.
std::string inline_roff(std::string_view text) {
  std::string out;
  bool is_code = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '`') {
      is_code = !is_code;
      out += is_code ? "\\fB" : "\\fR";
      continue;
    }
    const std::size_t close = text.find("](", i);
    if (text[i] == ']' && close == i && !is_code) {
      i = std::min(text.find(')', i), text.size() - 1);
      continue;
    }
    const bool opens_link = text[i] == '[' && !is_code &&
                            text.find(']', i) == text.find("](", i) &&
                            close != std::string_view::npos;
    if (!opens_link) append_plain(out, text[i]);
  }
  // A line that begins with a dot would be a command.
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string upper(std::string_view text) {
  std::string shout(text);
  std::transform(shout.begin(), shout.end(), shout.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  return shout;
}

/// "# acprun(1)" names the page and its section.
std::string title_line(std::string_view line, std::string_view version) {
  const std::size_t open = line.find('(');
  const std::size_t close = line.find(')');
  return fmt::format(".TH {} {} \"\" \"ACP {}\" \"ACP\"\n",
                     upper(line.substr(2, open - 2)),
                     line.substr(open + 1, close - open - 1), version);
}

/// Translates line by line; a line of a paragraph stays a line. Used for one
/// page, by one thread. Each line that it takes changes its fields.
class Translator {
 public:
  explicit Translator(std::string_view version) : version_(version) {}

  /// Takes the next line. `next` is the line behind it: a line before ": " is
  /// the term of a definition.
  void take(std::string_view line, std::string_view next) {
    const bool is_indented = line.starts_with("    ");
    if (!line.empty()) is_after_heading_ = false;
    if (in_table_ && line.empty()) end_table();
    if (in_block_ && !is_indented && !line.empty()) end_block();
    if (line.empty()) {
      if (in_block_) {
        ++skipped_;
      } else {
        needs_paragraph_ = !is_after_heading_;
      }
    } else if (line.starts_with("# ")) {
      out_ += title_line(line, version_);
    } else if (line.starts_with("## ")) {
      begin_section(".SH", upper(line.substr(3)));
    } else if (line.starts_with("### ")) {
      begin_section(".SS", std::string(line.substr(4)));
    } else if (is_indented) {
      take_block_line(line.substr(4));
    } else if (next.starts_with(": ")) {
      out_ += ".TP\n" + inline_roff(line) + '\n';
      needs_paragraph_ = false;
    } else if (line.find_first_not_of(' ') == line.find('|')) {
      take_table_row(line.substr(line.find('|') + 1), next);
    } else if (line.starts_with("- ")) {
      out_ += ".IP \\(bu 2\n" + inline_roff(line.substr(2)) + '\n';
      needs_paragraph_ = false;
    } else if (line.starts_with(": ") || line.starts_with("  ")) {
      out_ += inline_roff(line.substr(2)) + '\n';
    } else {
      begin_paragraph();
      out_ += inline_roff(line) + '\n';
    }
  }

  std::string finish() {
    if (in_block_) end_block();
    if (in_table_) end_table();
    return std::move(out_);
  }

 private:
  void begin_section(std::string_view macro, const std::string& title) {
    out_ += fmt::format("{} {}\n", macro, inline_roff(title));
    needs_paragraph_ = false;
    is_after_heading_ = true;
  }

  void begin_paragraph() {
    if (needs_paragraph_) out_ += ".PP\n";
    needs_paragraph_ = false;
  }

  void take_block_line(std::string_view line) {
    if (!in_block_) {
      begin_paragraph();
      out_ += ".RS 4\n.nf\n";
      in_block_ = true;
    }
    out_.append(skipped_, '\n');
    skipped_ = 0;
    out_ += inline_roff(line) + '\n';
  }

  void end_block() {
    out_ += ".fi\n.RE\n";
    in_block_ = false;
    needs_paragraph_ = skipped_ > 0;
    skipped_ = 0;
  }

  /// A row of two columns becomes a definition. The title is the row before
  /// "|---|"; neither is kept.
  void take_table_row(std::string_view cells, std::string_view next) {
    if (!in_table_) out_ += ".RS\n";
    in_table_ = true;
    if (cells.starts_with("---") || next.find("|---") != std::string_view::npos)
      return;
    const std::size_t bar = cells.find(" | ");
    out_ += fmt::format(
        ".TP\n{}\n{}\n", inline_roff(cells.substr(1, bar - 1)),
        inline_roff(cells.substr(bar + 3, cells.rfind(" |") - bar - 3)));
  }

  void end_table() {
    out_ += ".RE\n";
    in_table_ = false;
  }

  std::string_view version_;
  std::string out_;
  bool in_table_ = false;
  bool in_block_ = false;          ///< Inside of indented code.
  bool is_after_heading_ = false;  ///< No text since the last heading.
  bool needs_paragraph_ = false;   ///< An empty line was before this one.
  std::size_t skipped_ = 0;        ///< Empty lines of a block, kept back.
};

}  // namespace

std::string replace_options(std::string_view markdown,
                            std::string_view options) {
  const std::size_t begin = markdown.find(kBegin);
  const std::size_t end = markdown.find(kEnd);
  if (begin == std::string_view::npos || end == std::string_view::npos) {
    return std::string(markdown);
  }
  return fmt::format("{}\n{}\n{}", markdown.substr(0, begin + kBegin.size()),
                     options, markdown.substr(end));
}

std::string man_page(std::string_view markdown, std::string_view version) {
  std::vector<std::string_view> lines;
  while (!markdown.empty()) {
    const std::size_t end = std::min(markdown.find('\n'), markdown.size());
    const std::string_view line = markdown.substr(0, end);
    markdown.remove_prefix(std::min(end + 1, markdown.size()));
    if (!line.starts_with("<!--")) lines.push_back(line);
  }
  Translator translator(version);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    translator.take(lines[i], i + 1 < lines.size() ? lines[i + 1] : "");
  }
  return translator.finish();
}

}  // namespace acp::launcher
