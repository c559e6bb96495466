#include "frames.hpp"

namespace engram::local {

void Writer::id(const ID& id) {
  auto names = id.parts();
  put(std::uint8_t(names.size()));
  for (std::size_t i = 0; i < names.size() && i < 4; ++i) text(names[i]);
}

ID Reader::id() {
  auto level = take<std::uint8_t>();
  std::vector<std::string> names;
  for (int i = 0; i < std::min<int>(level, 4); ++i) names.push_back(text());
  std::optional<Time> at;
  std::optional<std::uint32_t> index;
  if (level > 4) at = time();
  if (level > 5) index = take<std::uint32_t>();
  return ID::of(names, at, index);
}

const ID& Reader::id_reference() {
  auto slot = take<std::uint32_t>();
  auto& place = known->ids.at(slot & ~defined);
  if (slot & defined) place = id();
  return place;
}

const std::string& Reader::type_reference() {
  auto slot = take<std::uint32_t>();
  auto& place = known->types.at(slot & ~defined);
  if (slot & defined) place = text();
  return place;
}

Snapshot Reader::snapshot(const ID& entity) {
  Snapshot s;
  s.entity = entity;
  s.time = time();
  s.arrived = time();
  auto number = take<std::uint64_t>();
  s.number = number & ~(std::uint64_t(3) << 62);
  s.recalled = number >> 63 != 0;
  s.predicted = (number >> 62 & 1) != 0;
  auto count = take<std::uint32_t>();
  s.instances.reserve(std::min<std::size_t>(count, records.size() / 17));
  for (std::uint32_t i = 0; i < count; ++i) {
    Instance instance;
    instance.type = type_reference();
    auto length = take<std::uint32_t>();
    auto sent = time();
    instance.confidence = take<float>();
    if (take<std::uint8_t>() & 1) instance.sent = sent;
    instance.bytes = cut(payloads, length);
    instance.owner = owner;
    instance.types = types;
    s.instances.push_back(std::move(instance));
  }
  return s;
}

Missing Reader::missing() {
  Missing m;
  m.id = id();
  m.reason = text();
  m.count = take<std::uint64_t>();
  m.start = time();
  m.end = time();
  return m;
}

Update Reader::update() {
  Update u;
  auto bits = take<std::uint8_t>();
  u.entity = id_reference();
  u.supersedes = bits & 1;
  u.restarted = bits & 2;
  if (bits & 8) u.dropped = take<std::uint64_t>();
  if (bits & 16) {
    u.failed = missing();
    example(*u.failed);
  }
  if (bits & 4) {
    u.snapshot = snapshot(u.entity);
    u.time = u.snapshot->time, u.arrived = u.snapshot->arrived, u.number = u.snapshot->number;
  } else {
    u.time = time();
    u.arrived = time();
    u.number = take<std::uint64_t>();
  }
  return u;
}

CopyUsed Reader::copy() {
  CopyUsed c;
  c.memory = text();
  c.server = text();
  c.as_of = time();
  c.lag = Duration(take<std::int64_t>());
  c.behind = take<std::uint64_t>();
  auto bits = take<std::uint8_t>();
  c.away = bits & 1;
  if (bits & 2) bytes(24);
  return c;
}

Error Reader::error() {
  auto code = take<std::uint8_t>();
  auto thing = text();
  return Error(code >= 1 && code <= 15 ? Code(code) : Code::internal, std::move(thing), text());
}

}  // namespace engram::local
