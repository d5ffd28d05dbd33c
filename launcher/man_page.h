// Makes a manual page for man(1) of a page of docs/man. Pure; called by
// launcher_pages while the project is built.
#pragma once

#include <string>
#include <string_view>

namespace acp::launcher {

/// Translates the Markdown that docs/man uses into roff. It knows headings,
/// paragraphs, lists, tables of two columns, code (also indented blocks), and
/// links. It also knows definitions whose text begins with ": ". The first line
/// has to be "# name(section)". `version` stands in the footer of the page.
std::string man_page(std::string_view markdown, std::string_view version);

/// Replaces what stands between the two lines that mark the generated options;
/// a page without these lines stays as it is.
std::string replace_options(std::string_view markdown,
                            std::string_view options);

}  // namespace acp::launcher
