// Times, and IDs: where in the hierarchy of memories something is.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "engram/engram_payload.hpp"
#include "engram/result.hpp"

namespace engram {

using payload::Duration;
using payload::Link;
using payload::Time;

/// The present by this computer's clock.
Time now();
/// Writes a time as IDs have it, such as "2022-02-18 13:06:56.492182", in UTC.
std::string to_string(Time time);
/// Reads such a text, RFC 3339, or nanoseconds since 1970.
Result<Time> parse_time(std::string_view text);

/// An ID as its text, such as "Object/Instance/Vision/blue-cup/2022-02-18 13:06:56.492182/0".
/// Slashes in names are written as "\/". It may be malformed; calls that take it say so.
class ID {
 public:
  ID() = default;
  ID(std::string text) : text_(std::move(text)) {}
  ID(std::string_view text) : text_(text) {}
  ID(const char* text) : text_(text) {}

  /// Makes an ID of names as they are, and of a snapshot's time and an instance's index.
  static ID of(const std::vector<std::string>& names, std::optional<Time> time = {}, std::optional<std::uint32_t> index = {});

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }

  /// The names, unescaped; of a snapshot also its time, of an instance its index, as text.
  std::vector<std::string> parts() const;
  /// 0 root, 1 memory, 2 core segment, 3 provider segment, 4 entity, 5 snapshot, 6 instance.
  std::size_t level() const { return parts().size(); }
  /// The memory's name.
  std::string memory() const;
  /// The last name of an entity, or of what is above.
  std::string name() const;
  /// The entity's ID, of a snapshot or an instance.
  ID entity() const;
  /// The snapshot's time; nothing above that level, or if it is none.
  std::optional<Time> time() const;
  /// The ID one level below; slashes in the name need no escape.
  ID operator/(std::string_view name) const;
  /// The pattern that only this ID matches.
  std::string pattern() const;

  operator Link() const { return Link{text_}; }
  auto operator<=>(const ID&) const = default;

 private:
  std::string text_;
};

inline std::ostream& operator<<(std::ostream& out, const ID& id) { return out << id.text(); }

}  // namespace engram

template <>
struct std::hash<engram::ID> {
  std::size_t operator()(const engram::ID& id) const { return std::hash<std::string>()(id.text()); }
};
