#include "engram/id.hpp"

#include <charconv>
#include <cstdio>

#include "transport.hpp"

namespace engram {

namespace {

constexpr std::string_view codes[] = {
    "internal", "invalid", "not found", "already exists", "type mismatch", "out of range", "too old", "too new",
    "conflict", "unavailable", "exhausted", "corrupt", "canceled", "unsupported", "forbidden",
};

std::string escaped(std::string_view name) {
  std::string out;
  for (char c : name) {
    if (c == '/' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

/// Calls with each name, unescaped.
template <class F>
void split(std::string_view text, F&& each) {
  if (text.empty()) return;
  std::string name;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == '/' || text[i + 1] == '\\')) {
      name += text[++i];
    } else if (text[i] == '/') {
      each(std::move(name));
      name.clear();
    } else {
      name += text[i];
    }
  }
  each(std::move(name));
}

/// Reads a whole number of so many digits.
bool digits(std::string_view& text, std::size_t n, std::int64_t& out) {
  if (text.size() < n) return false;
  auto [end, error] = std::from_chars(text.data(), text.data() + n, out);
  if (error != std::errc() || end != text.data() + n || text[0] == '-') return false;
  text.remove_prefix(n);
  return true;
}

bool skip(std::string_view& text, std::string_view any) {
  if (text.empty() || any.find(text[0]) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string_view to_string(Code code) {
  auto i = std::size_t(code) - 1;
  return i < std::size(codes) ? codes[i] : codes[0];
}

Code code_of(std::string_view name) {
  for (std::size_t i = 0; i < std::size(codes); ++i) {
    if (codes[i] == name) return Code(i + 1);
  }
  return Code::internal;
}

Time now() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

std::string to_string(Time time) {
  auto day = std::chrono::floor<std::chrono::days>(time);
  std::chrono::year_month_day date(day);
  auto rest = (time - day).count();
  auto seconds = rest / 1000000000, part = rest % 1000000000;
  char text[64];
  int n = std::snprintf(text, sizeof text, "%04d-%02u-%02u %02d:%02d:%02d", int(date.year()), unsigned(date.month()), unsigned(date.day()),
                        int(seconds / 3600), int(seconds / 60 % 60), int(seconds % 60));
  if (part % 1000 != 0) n += std::snprintf(text + n, sizeof text - std::size_t(n), ".%09lld", static_cast<long long>(part));
  else if (part != 0) n += std::snprintf(text + n, sizeof text - std::size_t(n), ".%06lld", static_cast<long long>(part / 1000));
  return std::string(text, std::size_t(n));
}

Result<Time> parse_time(std::string_view said) {
  auto wrong = [&] { return Error(Code::invalid, std::string(said), "not a time; write 2022-02-18 13:06:56.492182, or nanoseconds since 1970"); };
  std::string_view text = said;
  std::int64_t whole = 0;
  if (auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), whole); error == std::errc() && end == text.data() + text.size()) return time_of(whole);
  std::int64_t year, month, day, hour = 0, minute = 0, second = 0, part = 0, offset = 0;
  if (!digits(text, 4, year) || !skip(text, "-") || !digits(text, 2, month) || !skip(text, "-") || !digits(text, 2, day)) return wrong();
  if (skip(text, "T ")) {
    if (!digits(text, 2, hour) || !skip(text, ":") || !digits(text, 2, minute)) return wrong();
    if (skip(text, ":")) {
      if (!digits(text, 2, second)) return wrong();
      if (skip(text, ".")) {
        std::size_t n = 0;
        for (; n < text.size() && n < 9 && text[n] >= '0' && text[n] <= '9'; ++n) part = part * 10 + (text[n] - '0');
        if (n == 0) return wrong();
        text.remove_prefix(n);
        for (; n < 9; ++n) part *= 10;
      }
    }
    if (!skip(text, "Z") && !text.empty()) {
      bool west = text[0] == '-';
      std::int64_t hours, minutes;
      if (!skip(text, "+-") || !digits(text, 2, hours) || (skip(text, ":"), !digits(text, 2, minutes))) return wrong();
      offset = (west ? -1 : 1) * (hours * 3600 + minutes * 60);
    }
  }
  std::chrono::year_month_day date{std::chrono::year(int(year)), std::chrono::month(unsigned(month)), std::chrono::day(unsigned(day))};
  if (!text.empty() || !date.ok() || hour > 23 || minute > 59 || second > 59) return wrong();
  if (year < 1678 || year > 2261) return Error(Code::out_of_range, std::string(said), "times are from 1677 to 2262");
  auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return time_of((std::int64_t(days) * 86400 + hour * 3600 + minute * 60 + second - offset) * 1000000000 + part);
}

ID ID::of(const std::vector<std::string>& names, std::optional<Time> time, std::optional<std::uint32_t> index) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : "/") + escaped(name);
  if (time) text += "/" + to_string(*time);
  if (index) text += "/" + std::to_string(*index);
  return ID(std::move(text));
}

std::vector<std::string> ID::parts() const {
  std::vector<std::string> names;
  split(text_, [&](std::string name) { names.push_back(std::move(name)); });
  return names;
}

std::string ID::memory() const {
  auto names = parts();
  return names.empty() ? "" : names[0];
}

std::string ID::name() const {
  auto names = parts();
  return names.empty() ? "" : names[std::min<std::size_t>(names.size(), 4) - 1];
}

ID ID::entity() const {
  auto names = parts();
  if (names.size() <= 4) return *this;
  names.resize(4);
  return of(names);
}

std::optional<Time> ID::time() const {
  auto names = parts();
  if (names.size() < 5) return {};
  auto time = parse_time(names[4]);
  return time ? std::optional(*time) : std::nullopt;
}

ID ID::operator/(std::string_view name) const { return ID((text_.empty() ? "" : text_ + "/") + escaped(name)); }

std::string ID::pattern() const {
  std::string out;
  bool begin = true, literal = false;
  for (char c : text_) {
    if (begin && (c == '*' || c == '~')) out += '\\';
    begin = c == '/' && !literal;
    literal = c == '\\' && !literal;
    out += c;
  }
  return out;
}

ID entity_of(const ID& id) {
  auto names = id.parts();
  std::size_t found = 0;
  while (found < names.size() && found < 4 && !names[found].empty()) ++found;
  if (found < 4 || names.size() > 6) {
    throw Error(Code::invalid, id.text(), "the ID of an entity has four names, memory/core/provider/entity; this has " + std::to_string(names.size() > 6 ? names.size() : found));
  }
  return names.size() == 4 ? id : id.entity();
}

}  // namespace engram
