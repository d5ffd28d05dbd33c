// The only file that knows ncurses: takes keys, paints lines, and asks acprun
// for views. It runs in one thread. ncurses itself puts the terminal back when
// a signal ends the program.
#include "screen.h"

#define NCURSES_NOMACROS  // its macros have names such as erase and move
#include <curses.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <optional>

#include "list.h"

namespace acp::top {

namespace {

using protocol::JobView;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// The terminal in the state that ncurses needs. At most one at a time.
class Terminal {
 public:
  Terminal() {
    std::setlocale(LC_CTYPE, "");
    ::set_escdelay(25);
    is_open_ = ::newterm(nullptr, stdout, stdin) != nullptr;
    if (!is_open_) return;
    ::cbreak();
    ::noecho();
    ::keypad(::stdscr, TRUE);
    ::nodelay(::stdscr, TRUE);
    ::curs_set(0);
    if (::has_colors()) {
      ::start_color();
      ::use_default_colors();
      ::init_pair(kAlarmPair, COLOR_RED, -1);
    }
  }

  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  ~Terminal() {
    if (is_open_) ::endwin();
  }

  bool is_open() const noexcept { return is_open_; }

  static void paint(const std::vector<Line>& lines) {
    ::erase();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const auto attributes = attributes_of(lines[i].style);
      ::attron(static_cast<int>(attributes));
      ::mvaddnstr(static_cast<int>(i), 0, lines[i].text.c_str(), -1);
      if (lines[i].style == Style::kTitle) ::hline(' ', COLS);
      ::attroff(static_cast<int>(attributes));
    }
    ::refresh();
  }

 private:
  static constexpr short kAlarmPair = 1;

  static chtype attributes_of(Style style) {
    switch (style) {
      case Style::kPlain: return A_NORMAL;
      case Style::kBold: return A_BOLD;
      case Style::kTitle: return A_REVERSE;
      case Style::kAlarm:
        return A_BOLD | (::has_colors() ? COLOR_PAIR(kAlarmPair) : A_NORMAL);
      case Style::kDim: return A_DIM;
    }
    return A_NORMAL;
  }

  bool is_open_ = false;
};

/// The key of a code of ncurses. nullopt: a code that changes nothing, such as
/// KEY_RESIZE.
std::optional<Key> key_of(int code) {
  switch (code) {
    case KEY_UP: return Key::kUp;
    case KEY_DOWN: return Key::kDown;
    case KEY_PPAGE: return Key::kPageUp;
    case KEY_NPAGE: return Key::kPageDown;
    case KEY_HOME: return Key::kHome;
    case KEY_END: return Key::kEnd;
    case KEY_LEFT: return Key::kLeft;
    case KEY_RIGHT: return Key::kRight;
    case KEY_BACKSPACE:
    case 127:
    case '\b': return Key::kBackspace;
    case KEY_ENTER:
    case '\r':
    case '\n': return Key::kEnter;
    case 27: return Key::kEscape;
    default:
      return code >= ' ' && code < 127 ? std::optional(Key::kCharacter)
                                       : std::nullopt;
  }
}

/// Used by one thread.
class Screen {
 public:
  Screen(Picture picture, LiveJob* live, milliseconds interval)
      : picture_(std::move(picture)), live_(live), interval_(interval) {}

  void run() {
    ask();
    for (;;) {
      is_late_ = is_live() && has_asked_ && Clock::now() >= late_at_;
      list_.set_notice(is_late_ ? "acprun does not answer" : "");
      Terminal::paint(list_.lines(picture_, static_cast<std::size_t>(COLS),
                                  static_cast<std::size_t>(LINES)));
      wait();
      if (!take_keys()) return;
      take_views();
      if (is_live() && !has_asked_ && Clock::now() >= next_) ask();
    }
  }

 private:
  bool is_live() const { return live_ != nullptr && !live_->is_over(); }

  void ask() {
    if (!is_live()) return;
    live_->ask(protocol::ViewRequest::kRanks);
    has_asked_ = true;
    next_ = Clock::now() + interval_;
    late_at_ = Clock::now() + kAnswerLimit;
  }

  /// Sleeps until a key, a view, or the time of the next request. A change of
  /// the terminal's size interrupts it.
  void wait() {
    pollfd ready[2] = {{STDIN_FILENO, POLLIN, 0},
                       {is_live() ? live_->fd() : -1, POLLIN, 0}};
    int limit = -1;
    if (is_live() && !is_late_) {
      const auto left = std::chrono::ceil<milliseconds>(
          (has_asked_ ? late_at_ : next_) - Clock::now());
      limit = static_cast<int>(std::max(left, milliseconds(0)).count());
    }
    ::poll(ready, 2, limit);
    is_hung_up_ = (ready[0].revents & (POLLHUP | POLLERR)) != 0;
  }

  /// Returns false when the user leaves, or the terminal is gone.
  bool take_keys() {
    for (int code = ::getch(); code != ERR; code = ::getch()) {
      const auto key = key_of(code);
      if (key && !list_.press(*key, static_cast<char>(code))) return false;
    }
    return !is_hung_up_;
  }

  void take_views() {
    if (!is_live()) return;
    auto view = live_->receive();
    if (view) {
      has_asked_ = false;
      if (!list_.is_paused()) {
        picture_ = picture_of(*view, before_ ? &*before_ : nullptr);
      }
      before_ = std::move(view);
    }
    if (!live_->is_over() || !picture_.end.empty()) return;
    picture_.end = live_->error().empty()
                       ? "acprun has ended, or has dropped this viewer"
                       : live_->error();
  }

  /// acprun answers within a second and a half, unless it is stopped.
  static constexpr milliseconds kAnswerLimit{3000};

  Picture picture_;
  LiveJob* live_;  ///< Null: picture_ stays.
  milliseconds interval_;
  std::optional<JobView> before_;  ///< The latest view.
  Clock::time_point next_{};       ///< Time of the next request.
  Clock::time_point late_at_{};    ///< Time by which the answer should be here.
  bool has_asked_ = false;         ///< The answer has not come.
  bool is_late_ = false;           ///< It has not come by late_at_.
  bool is_hung_up_ = false;        ///< The terminal is gone.
  List list_;
};

}  // namespace

int run_screen(Picture picture,
               LiveJob* live,
               milliseconds interval,
               std::string& error) {
  Terminal terminal;
  if (!terminal.is_open()) {
    error = "this terminal cannot show it (see TERM): give --once or --json\n";
    return 1;
  }
  Screen(std::move(picture), live, interval).run();
  return 0;
}

}  // namespace acp::top
