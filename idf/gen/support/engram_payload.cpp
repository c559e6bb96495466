// The part of the library that knows no types. Written by engram gen: do not edit.
#include "engram_payload.hpp"

#include <algorithm>
#include <unordered_map>

#include "engram_payload_codec.hpp"

namespace engram::payload::codec {

namespace {

[[noreturn]] void cut() { throw Error("the payload is cut"); }

void check_depth(int depth) {
  if (depth > max_depth) throw Error("messages are nested over 100 deep");
}

}  // namespace

Reader::Reader(std::string_view data, int depth) : at_(data.data()), end_(data.data() + data.size()), depth_(depth) {
  check_depth(depth);
}

std::uint64_t Reader::number() {
  std::uint64_t n = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at_ == end_) cut();
    auto b = static_cast<unsigned char>(*at_++);
    n |= std::uint64_t(b & 0x7f) << shift;
    if (b < 0x80) return n;
  }
  throw Error("a number has more than 10 bytes");
}

std::uint64_t Reader::fixed(std::size_t n) {
  if (std::size_t(end_ - at_) < n) cut();
  std::uint64_t v = 0;
  std::memcpy(&v, at_, n);
  at_ += n;
  return v;
}

bool Reader::next(Record& r) {
  if (at_ == end_) return false;
  std::uint64_t tag = number();
  if (tag >> 3 == 0 || tag >> 32 != 0) throw Error("the payload is malformed: a member has no valid number");
  r = {.number = std::uint32_t(tag >> 3), .wire = std::uint32_t(tag & 7), .depth = depth_};
  switch (r.wire) {
    case varint:
      r.num = number();
      break;
    case fixed64:
      r.num = fixed(8);
      break;
    case fixed32:
      r.num = fixed(4);
      break;
    case bytes: {
      std::uint64_t n = number();
      if (n > std::uint64_t(end_ - at_)) cut();
      r.content = {at_, std::size_t(n)};
      at_ += n;
      break;
    }
    case 3:
      skip_group(r.number, depth_);
      break;
    default:
      throw Error("the payload is malformed: wire type " + std::to_string(r.wire));
  }
  return true;
}

void Reader::skip_group(std::uint32_t field, int depth) {
  check_depth(depth);
  for (;;) {
    std::uint64_t tag = number();
    switch (tag & 7) {
      case varint:
        number();
        break;
      case fixed64:
        fixed(8);
        break;
      case fixed32:
        fixed(4);
        break;
      case bytes: {
        std::uint64_t n = number();
        if (n > std::uint64_t(end_ - at_)) cut();
        at_ += n;
        break;
      }
      case 3:
        skip_group(std::uint32_t(tag >> 3), depth + 1);
        break;
      default:
        if (tag == (std::uint64_t(field) << 3 | 4)) return;
        throw Error("the payload is malformed: a group ends that did not begin");
    }
  }
}

void Writer::number(std::uint64_t n) {
  char buffer[10];
  std::size_t size = 0;
  while (n >= 0x80) {
    buffer[size++] = char(n | 0x80);
    n >>= 7;
  }
  buffer[size++] = char(n);
  out.append(buffer, size);
}

void Writer::close(std::size_t start) {
  std::size_t size = out.size() - start - 1;
  char buffer[10];
  std::size_t n = 0;
  std::size_t rest = size;
  for (; rest >= 0x80; rest >>= 7) buffer[n++] = char(rest | 0x80);
  buffer[n++] = char(rest);
  if (n > 1) out.insert(start + 1, n - 1, '\0');
  out.replace(start, n, buffer, n);
}

void wrong_wire() { throw Error("the payload is malformed, or not of this type: it has another wire type"); }

void check_text(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x80) {
      ++i;
      continue;
    }
    std::size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0xc2 || c > 0xf4 || i + n > text.size()) throw Error("a text is not UTF-8");
    std::uint32_t point = c & (0xff >> (n + 1));
    for (std::size_t k = 1; k < n; ++k) {
      auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xc0) != 0x80) throw Error("a text is not UTF-8");
      point = point << 6 | (next & 0x3f);
    }
    bool overlong = (n == 3 && point < 0x800) || (n == 4 && point < 0x10000);
    if (overlong || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) throw Error("a text is not UTF-8");
    i += n;
  }
}

// Objects.

void read_object(void* object, const Layout& layout, std::string_view data, int depth) {
  Reader in(data, depth);
  std::size_t guess = 0;  // members stand in the order of their numbers, as a rule
  for (Record r; in.next(r);) {
    const Member* found = nullptr;
    for (std::size_t i = 0; i < layout.members.size() && found == nullptr; ++i) {
      std::size_t at = guess + i < layout.members.size() ? guess + i : guess + i - layout.members.size();
      if (layout.members[at].number == r.number) {
        found = &layout.members[at];
        guess = at;
      }
    }
    if (found == nullptr) continue;
    try {
      found->read(object, r);
    } catch (const Error& e) {
      throw e.under(found->name);
    }
    if (found->oneof == 0) continue;
    for (const Member& other : layout.members) {
      if (other.oneof == found->oneof && &other != found) other.reset(object);
    }
  }
}

void write_object(const void* object, const Layout& layout, Writer& w) {
  for (const Member& m : layout.members) {
    if (m.oneof != 0 && m.is_set(object)) {
      for (const Member& other : layout.members) {
        if (other.oneof == m.oneof && &other != &m && other.is_set(object)) {
          throw Error(std::string("excludes ") + other.name + ", which is set too", m.name);
        }
      }
    }
    try {
      m.write(object, m.number, w);
    } catch (const Error& e) {
      throw e.under(m.name);
    }
  }
}

void assign_object(void* object, const Layout& layout, const Dyn& v) {
  if (v.kind == Dyn::dict) {  // of a Value
    Dyn made;
    made.kind = Dyn::object;
    for (std::size_t i = 0; i < v.items.size(); ++i) made.members.emplace_back(v.keys[i].text_, v.items[i]);
    return assign_object(object, layout, made);
  }
  if (v.kind != Dyn::object) unfit(v, layout.name);
  for (const Member& m : layout.members) {
    for (const auto& [name, value] : v.members) {
      if (name != m.name || value.kind == Dyn::null) continue;
      try {
        m.assign(object, value);
      } catch (const Error& e) {
        throw e.under(name);
      }
    }
  }
}

}  // namespace engram::payload::codec

namespace engram::payload {

namespace {

struct SenderField {
  std::string name, type;
  std::uint32_t number = 0;
  int label = 1, kind = 0;
  bool presence = false;
};

struct SenderMessage {
  std::vector<SenderField> fields;
  int wrapper = 0;
  bool map = false;
};

}  // namespace

struct Sender::Types {
  std::map<std::string, SenderMessage, std::less<>> messages;
  std::map<std::string, std::map<std::int32_t, std::string>, std::less<>> enums;
  std::map<std::string, std::vector<std::pair<SenderField, codec::Shape>>, std::less<>> shapes;  // of the members

  void read_file(std::string_view data);
  void read_message(std::string_view data, const std::string& scope, bool proto3, int depth);
  void read_enum(std::string_view data, const std::string& scope);
  codec::Shape shape(const SenderField& f, int depth) const;
  codec::Shape single(const SenderField& f, int depth) const;
  codec::Dyn read_object(const std::string& name, std::string_view data, int depth) const;
  codec::Dyn read(const codec::Shape& s, const codec::Record& r) const;
  void read_member(codec::Dyn& v, const codec::Shape& s, const codec::Record& r) const;
  codec::Dyn zero(const codec::Shape& s) const;
};

namespace {

using namespace codec;

std::string full(const std::string& scope, const std::string& name) { return scope.empty() ? name : scope + "." + name; }

const std::unordered_map<std::string, Shape::Kind> specials = {
    {"google.protobuf.Timestamp", Shape::time}, {"google.protobuf.Duration", Shape::duration},
    {"engram.idf.v1.Link", Shape::link},        {"engram.idf.v1.Matrix", Shape::array},
    {"engram.idf.v1.NDArray", Shape::array},    {"engram.idf.v1.Value", Shape::value},
};

constexpr const char* field_kinds[] = {"",       "double", "float",   "int64", "uint64", "int32", "fixed64",  "fixed32",  "bool",   "string",
                                       "group",  "message", "bytes", "uint32", "enum",  "sfixed32", "sfixed64", "sint32", "sint64"};

}  // namespace

Sender::Sender(std::string name, std::string_view descriptors) : name_(std::move(name)) {
  auto types = std::make_shared<Types>();
  try {
    Reader in(descriptors, 1);
    for (Record r; in.next(r);) {
      if (r.number == 1 && r.wire == bytes) types->read_file(r.content);
    }
  } catch (const Error& e) {
    throw Error(std::string("the descriptors are not a FileDescriptorSet: ") + e.what());
  }
  for (const auto& [full, m] : types->messages) {
    auto& members = types->shapes[full];
    for (const auto& f : m.fields) members.emplace_back(f, types->shape(f, 0));
  }
  if (!specials.contains(name_) && !types->messages.contains(name_)) throw Error("the descriptors do not declare " + name_);
  types_ = std::move(types);
}

void Sender::Types::read_file(std::string_view data) {
  std::string package, syntax;
  Reader head(data, 1);
  for (Record r; head.next(r);) {
    if (r.number == 2) package = r.content;
    if (r.number == 12) syntax = r.content;
  }
  Reader in(data, 1);
  for (Record r; in.next(r);) {
    if (r.number == 4) read_message(r.content, package, syntax == "proto3", 1);
    if (r.number == 5) read_enum(r.content, package);
  }
}

void Sender::Types::read_message(std::string_view data, const std::string& scope, bool proto3, int depth) {
  SenderMessage m;
  std::string name;
  Reader head(data, depth);
  for (Record r; head.next(r);) {
    if (r.number == 1) name = r.content;
    if (r.number == 2 && r.wire == bytes) {
      SenderField f{.presence = !proto3};
      Reader in(r.content, depth);
      for (Record p; in.next(p);) {
        if (p.number == 1) f.name = p.content;
        if (p.number == 6) f.type = p.content.starts_with('.') ? p.content.substr(1) : p.content;
        if (p.number == 3) f.number = std::uint32_t(p.num);
        if (p.number == 4) f.label = int(p.num);
        if (p.number == 5) f.kind = p.num < std::size(field_kinds) ? int(p.num) : 0;
        if (p.number == 9 || (p.number == 17 && p.num != 0)) f.presence = true;
      }
      if (f.kind == 0 || f.kind == 10) throw Error("the member " + f.name + " is of a kind that payloads have not");
      f.presence = f.presence || f.kind == 11;
      m.fields.push_back(std::move(f));
    }
    if (r.number == 7 && r.wire == bytes) {
      Reader in(r.content, depth);
      for (Record p; in.next(p);) {
        if (p.number == 7) m.map = p.num != 0;
        if (p.number == 54100) m.wrapper = int(p.num);
      }
    }
  }
  std::string whole = full(scope, name);
  messages[whole] = std::move(m);
  Reader in(data, depth);
  for (Record r; in.next(r);) {
    if (r.number == 3) read_message(r.content, whole, proto3, depth + 1);
    if (r.number == 4) read_enum(r.content, whole);
  }
}

void Sender::Types::read_enum(std::string_view data, const std::string& scope) {
  std::string name;
  std::map<std::int32_t, std::string> keys;
  Reader in(data, 1);
  for (Record r; in.next(r);) {
    if (r.number == 1) name = r.content;
    if (r.number != 2) continue;
    std::string key, written;
    std::int32_t number = 0;
    Reader value(r.content, 1);
    for (Record p; value.next(p);) {
      if (p.number == 1) key = p.content;
      if (p.number == 2) number = std::int32_t(p.num);
      if (p.number != 3) continue;
      Reader options(p.content, 1);
      for (Record o; options.next(o);) {
        if (o.number == 54120) written = o.content;
      }
    }
    keys.try_emplace(number, written.empty() ? key : written);
  }
  enums[full(scope, name)] = std::move(keys);
}

/// The shape of a member: a list or dict is one of records, an optional one with presence.
Shape Sender::Types::shape(const SenderField& f, int depth) const {
  check_depth(depth);
  auto m = f.kind == 11 ? messages.find(f.type) : messages.end();
  Shape s;
  if (f.label == 3 && m != messages.end() && m->second.map && m->second.fields.size() == 2) {
    bool first = m->second.fields[0].number == 1;
    s.kind = Shape::dict;
    s.parts = {single(m->second.fields[first ? 0 : 1], depth), single(m->second.fields[first ? 1 : 0], depth)};
  } else if (f.label == 3) {
    s.kind = Shape::list;
    s.parts = {single(f, depth)};
  } else if (f.presence) {
    s.kind = Shape::optional;
    s.parts = {single(f, depth)};
  } else {
    s = single(f, depth);
  }
  return s;
}

/// The shape of a single value: lists, dicts and optionals are messages of their own.
Shape Sender::Types::single(const SenderField& f, int depth) const {
  Shape s;
  s.name = f.type;
  switch (f.kind) {
    case 8:
      s.kind = Shape::boolean;
      return s;
    case 9:
      s.kind = Shape::text;
      return s;
    case 12:
      s.kind = Shape::raw;
      return s;
    case 14:
      s.kind = Shape::enumeration;
      return s;
    case 11:
      break;
    default:
      s.kind = Shape::number;
      s.scalar = field_kinds[f.kind];
      return s;
  }
  if (auto special = specials.find(f.type); special != specials.end()) {
    s.kind = special->second;
    s.matrix = f.type == "engram.idf.v1.Matrix";
    return s;
  }
  auto m = messages.find(f.type);
  if (m == messages.end()) throw Error("the descriptors do not declare " + f.type);
  const auto& fields = m->second.fields;
  s.kind = Shape::object;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].number != i + 1) return s;
  }
  if (m->second.wrapper == 3) {
    s.kind = Shape::tuple;
    for (const auto& part : fields) s.parts.push_back(shape(part, depth + 1));
  } else if (m->second.wrapper != 0 && fields.size() == 1) {
    s = shape(fields[0], depth + 1);
  }
  return s;
}

namespace {

std::uint64_t unzigzag(std::uint64_t n) { return (n >> 1) ^ (~(n & 1) + 1); }

Dyn number_of(const std::string& kind, const Record& r) {
  Dyn v;
  v.kind = Dyn::integer;
  if (kind == "float" || kind == "double") {
    v.kind = Dyn::real;
    v.real_ = kind == "float" ? std::bit_cast<float>(std::uint32_t(r.num)) : std::bit_cast<double>(r.num);
  } else if (kind == "uint64" || kind == "fixed64") {
    v.kind = Dyn::natural;
    v.natural_ = r.num;
  } else if (kind == "uint32" || kind == "fixed32") {
    v.integer_ = std::uint32_t(r.num);
  } else if (kind == "int32" || kind == "sfixed32") {
    v.integer_ = std::int32_t(r.num);
  } else if (kind == "sint32") {
    v.integer_ = std::int32_t(unzigzag(std::uint32_t(r.num)));
  } else {
    v.integer_ = std::int64_t(kind == "sint64" ? unzigzag(r.num) : r.num);
  }
  return v;
}

std::uint32_t wire_of(const Shape& s) {
  switch (s.kind) {
    case Shape::boolean:
    case Shape::enumeration:
      return varint;
    case Shape::number:
      if (s.scalar == "float" || s.scalar == "fixed32" || s.scalar == "sfixed32") return fixed32;
      if (s.scalar == "double" || s.scalar == "fixed64" || s.scalar == "sfixed64") return fixed64;
      return varint;
    default:
      return bytes;
  }
}

}  // namespace

Dyn Sender::Types::zero(const Shape& s) const {
  Dyn v;
  switch (s.kind) {
    case Shape::boolean:
      v.kind = Dyn::boolean;
      break;
    case Shape::number:
      return number_of(s.scalar, {});
    case Shape::text:
      v.kind = Dyn::text;
      break;
    case Shape::raw:
      v.kind = Dyn::raw;
      break;
    case Shape::list:
      v.kind = Dyn::list;
      break;
    case Shape::dict:
      v.kind = Dyn::dict;
      break;
    case Shape::enumeration:
      return read(s, {.wire = varint});
    default:
      break;
  }
  return v;
}

Dyn Sender::Types::read_object(const std::string& name, std::string_view data, int depth) const {
  Dyn v;
  v.kind = Dyn::object;
  const auto& members = shapes.at(name);
  for (const auto& [f, s] : members) v.members.emplace_back(f.name, Dyn{});
  Reader in(data, depth);
  for (Record r; in.next(r);) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (members[i].first.number != r.number) continue;
      try {
        read_member(v.members[i].second, members[i].second, r);
      } catch (const Error& e) {
        throw e.under(members[i].first.name);
      }
    }
  }
  return v;
}

void Sender::Types::read_member(Dyn& v, const Shape& s, const Record& r) const {
  const Shape& item = s.kind == Shape::optional || s.kind == Shape::list ? s.parts[0] : s;
  if (s.kind == Shape::list || s.kind == Shape::dict) v.kind = s.kind == Shape::list ? Dyn::list : Dyn::dict;
  if (s.kind == Shape::dict) {
    if (r.wire != bytes) wrong_wire();
    Dyn key = zero(s.parts[0]), value = zero(s.parts[1]);
    if (s.parts[1].kind == Shape::object) value = read_object(s.parts[1].name, {}, r.depth + 1);
    Reader in(r.content, r.depth + 1);
    for (Record part; in.next(part);) {
      if (part.number > 2) continue;
      const Shape& of = s.parts[part.number - 1];
      if (part.wire != wire_of(of)) wrong_wire();
      (part.number == 1 ? key : value) = read(of, part);
    }
    v.keys.push_back(std::move(key));
    v.items.push_back(std::move(value));
    return;
  }
  std::uint32_t wire = wire_of(item);
  if (s.kind == Shape::list && wire != bytes && r.wire == bytes) {
    std::size_t size = wire == fixed32 ? 4 : wire == fixed64 ? 8 : 0;
    Reader in(r.content, r.depth);
    std::string_view rest = r.content;
    while (size == 0 ? !in.done() : !rest.empty()) {
      Record one{.wire = wire};
      if (size == 0) {
        one.num = in.number();
      } else {
        if (rest.size() < size) throw Error("the payload is cut");
        std::memcpy(&one.num, rest.data(), size);
        rest.remove_prefix(size);
      }
      v.items.push_back(read(item, one));
    }
    return;
  }
  if (r.wire != wire) wrong_wire();
  if (s.kind == Shape::list) {
    v.items.push_back(read(item, r));
  } else {
    v = read(item, r);
  }
}

Dyn Sender::Types::read(const Shape& s, const Record& r) const {
  Dyn v;
  switch (s.kind) {
    case Shape::boolean:
      v.kind = Dyn::boolean;
      v.integer_ = r.num != 0;
      return v;
    case Shape::number:
      return number_of(s.scalar, r);
    case Shape::text:
      check_text(r.content);
      v.kind = Dyn::text;
      v.text_ = r.content;
      return v;
    case Shape::raw:
      v.kind = Dyn::raw;
      v.text_ = r.content;
      return v;
    case Shape::enumeration: {
      v.kind = Dyn::key;
      v.integer_ = std::int32_t(r.num);
      if (auto e = enums.find(s.name); e != enums.end()) {
        if (auto key = e->second.find(std::int32_t(r.num)); key != e->second.end()) v.text_ = key->second;
      }
      return v;
    }
    case Shape::object:
      return read_object(s.name, r.content, r.depth + 1);
    case Shape::tuple: {
      v.kind = Dyn::list;
      for (const auto& part : s.parts) v.items.push_back(zero(part));
      Reader in(r.content, r.depth + 1);
      for (Record part; in.next(part);) {
        if (part.number <= s.parts.size()) read_member(v.items[part.number - 1], s.parts[part.number - 1], part);
      }
      return v;
    }
    case Shape::list:
    case Shape::dict:
    case Shape::optional: {
      v = zero(s);
      Reader in(r.content, r.depth + 1);
      for (Record part; in.next(part);) {
        if (part.number == 1) read_member(v, s, part);
      }
      return v;
    }
    case Shape::time: {
      Time t;
      Special<Time>::read(t, r);
      v.kind = Dyn::time;
      v.integer_ = t.time_since_epoch().count();
      return v;
    }
    case Shape::duration: {
      Duration d;
      Special<Duration>::read(d, r);
      v.kind = Dyn::duration;
      v.integer_ = d.count();
      return v;
    }
    case Shape::link: {
      Link link;
      Special<Link>::read(link, r);
      v.kind = Dyn::link;
      v.text_ = link.id;
      return v;
    }
    case Shape::array: {
      v.kind = Dyn::array;
      if (s.matrix) {
        Matrix m;
        Special<Matrix>::read(m, r);
        v.array_ = {{m.rows, m.cols}, m.dtype, std::move(m.data)};
      } else {
        Special<NDArray>::read(v.array_, r);
      }
      return v;
    }
    case Shape::value: {
      Value any;
      Special<Value>::read(any, r);
      return dyn_of(any);
    }
  }
  return v;
}

namespace codec {

const Shape& bare(const Shape& s) {
  const Shape* at = &s;
  while (at->kind == Shape::optional) at = &at->parts[0];
  return *at;
}

namespace {

Shape shape_of(const Sender& sender) {
  Shape root;
  root.name = sender.name();
  auto special = specials.find(sender.name());
  root.kind = special != specials.end() ? special->second : Shape::object;
  return root;
}

}  // namespace

Dyn read_sent(std::string_view data, const Sender& sender) {
  return sender.types().read(shape_of(sender), {.wire = bytes, .content = data, .depth = 0});
}

void cast_object(void* object, const Layout& layout, std::string_view data, const Sender& sender) {
  Shape root = shape_of(sender);
  Compared compared{sender.types(), {}};
  if (root.kind != Shape::value) check_object(root, layout, compared);
  assign_object(object, layout, read_sent(data, sender));
}

void check_object(const Shape& from, const Layout& layout, Compared& compared) {
  if (from.kind == Shape::value) return;
  if (from.kind != Shape::object) unfit(from, layout.name);
  std::pair<std::string, std::string_view> pair{from.name, layout.name};
  if (std::find(compared.seen.begin(), compared.seen.end(), pair) != compared.seen.end()) return;
  compared.seen.push_back(pair);
  for (const auto& [f, s] : compared.types.shapes.at(from.name)) {
    for (const Member& m : layout.members) {
      if (f.name != m.name) continue;
      try {
        m.check(s, compared);
      } catch (const Error& e) {
        throw e.under(m.name);
      }
    }
  }
}

bool is_numeric(const Shape& s) { return s.kind == Shape::number || s.kind == Shape::enumeration; }

std::string words(const Shape& s) {
  static constexpr const char* names[] = {"a bool", "", "a string", "bytes", "", "", "a time", "a duration", "a link", "an array", "a Value", "a list", "a dict", "a tuple", "an optional value"};
  if (s.kind == Shape::number) return s.scalar;
  if (s.kind == Shape::array && s.matrix) return "a matrix";
  return s.kind == Shape::enumeration || s.kind == Shape::object ? s.name : names[s.kind];
}

std::string words(const Dyn& v) {
  switch (v.kind) {
    case Dyn::integer:
      return std::to_string(v.integer_);
    case Dyn::natural:
      return std::to_string(v.natural_);
    case Dyn::real:
      return std::to_string(v.real_);
    case Dyn::text:
    case Dyn::link:
      return "\"" + v.text_.substr(0, 50) + "\"";
    case Dyn::key:
      return v.text_.empty() ? std::to_string(v.integer_) : v.text_;
    default:
      static constexpr const char* names[] = {"null", "a bool", "", "", "", "", "bytes", "", "an object", "a time", "a duration", "", "an array", "a list", "a dict"};
      return names[v.kind];
  }
}

void unfit(const Shape& from, std::string_view to) { throw Error(words(from) + " does not become " + std::string(to)); }
void unfit(const Dyn& v, std::string_view to) { throw Error(words(v) + " does not become " + std::string(to)); }

std::int32_t enum_of(const Dyn& v, std::string_view name, std::span<const Key> keys) {
  if ((v.kind == Dyn::key && !v.text_.empty()) || v.kind == Dyn::text) {
    for (const Key& k : keys) {
      if (v.text_ == k.key) return k.number;
    }
    throw Error(std::string(name) + " has no value " + v.text_);
  }
  return whole<std::int32_t>(v, std::string(name).c_str());
}

// The special types.

namespace {

std::pair<std::int64_t, std::int64_t> read_seconds(const Record& r) {
  std::int64_t parts[2] = {0, 0};
  Reader in(r.content, r.depth + 1);
  for (Record p; in.next(p);) {
    if (p.number > 2) continue;
    if (p.wire != varint) throw Error("a time is malformed");
    parts[p.number - 1] = p.number == 1 ? std::int64_t(p.num) : std::int32_t(p.num);
  }
  return {parts[0], parts[1]};
}

std::int64_t nanoseconds(const Record& r) {
  auto [seconds, nanos] = read_seconds(r);
  std::int64_t ns = 0;
  bool over;
  if (seconds < 0 && nanos > 0) {  // so that the lowest second can be reached
    over = __builtin_mul_overflow(seconds + 1, std::int64_t(1000000000), &ns) || __builtin_add_overflow(ns, nanos - 1000000000, &ns);
  } else {
    over = __builtin_mul_overflow(seconds, std::int64_t(1000000000), &ns) || __builtin_add_overflow(ns, nanos, &ns);
  }
  if (over) throw Error("a time is out of range");
  return ns;
}

void write_seconds(std::int64_t seconds, std::int64_t nanos, Writer& w) {
  if (seconds != 0) {
    w.tag(1, varint);
    w.number(std::uint64_t(seconds));
  }
  if (nanos != 0) {
    w.tag(2, varint);
    w.number(std::uint64_t(nanos));
  }
}

std::size_t size_of(DType t) {
  constexpr std::size_t sizes[] = {0, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
  auto i = std::size_t(t);
  return i < std::size(sizes) ? sizes[i] : 0;
}

void check_array(std::span<const std::int64_t> shape, DType dtype, const Bytes& data) {
  std::size_t n = size_of(dtype);
  if (n == 0) throw Error("an array has the unknown element type " + std::to_string(int(dtype)));
  bool fits = true;
  for (auto extent : shape) fits = fits && extent >= 0 && !__builtin_mul_overflow(n, std::size_t(extent), &n);
  if (!fits || n != data.size()) throw Error("an array's shape does not hold its " + std::to_string(data.size()) + " bytes");
}

}  // namespace

void Special<Time>::read(Time& v, const Record& r) { v = Time(Duration(nanoseconds(r))); }
void Special<Time>::write(const Time& v, Writer& w) {
  auto ns = v.time_since_epoch().count();
  auto seconds = ns / 1000000000, nanos = ns % 1000000000;
  if (nanos < 0) seconds -= 1, nanos += 1000000000;
  write_seconds(seconds, nanos, w);
}
void Special<Time>::assign(Time& v, const Dyn& d) {
  if (d.kind != Dyn::time) unfit(d, "a time");
  v = Time(Duration(d.integer_));
}
void Special<Time>::check(const Shape& s) {
  if (s.kind != Shape::time) unfit(s, "a time");
}

void Special<Duration>::read(Duration& v, const Record& r) { v = Duration(nanoseconds(r)); }
void Special<Duration>::write(const Duration& v, Writer& w) { write_seconds(v.count() / 1000000000, v.count() % 1000000000, w); }
void Special<Duration>::assign(Duration& v, const Dyn& d) {
  if (d.kind != Dyn::duration) unfit(d, "a duration");
  v = Duration(d.integer_);
}
void Special<Duration>::check(const Shape& s) {
  if (s.kind != Shape::duration) unfit(s, "a duration");
}

void Special<Link>::read(Link& v, const Record& r) {
  Reader in(r.content, r.depth + 1);
  for (Record p; in.next(p);) {
    if (p.number != 1) continue;
    if (p.wire != bytes) throw Error("a link is malformed");
    check_text(p.content);
    v.id = p.content;
  }
}
void Special<Link>::write(const Link& v, Writer& w) {
  check_text(v.id);
  if (!v.id.empty()) w.delimited(1, [&] { w.out.append(v.id); });
}
void Special<Link>::assign(Link& v, const Dyn& d) {
  if (d.kind != Dyn::link && d.kind != Dyn::text) unfit(d, "a link");
  v.id = d.text_;
}
void Special<Link>::check(const Shape& s) {
  if (s.kind != Shape::link && s.kind != Shape::text) unfit(s, "a link");
}

void Special<Matrix>::read(Matrix& v, const Record& r) {
  Reader in(r.content, r.depth + 1);
  for (Record p; in.next(p);) {
    if (p.number > 4) continue;
    if (p.wire != (p.number == 4 ? bytes : varint)) throw Error("a matrix is malformed");
    if (p.number == 1) v.rows = std::int64_t(p.num);
    if (p.number == 2) v.cols = std::int64_t(p.num);
    if (p.number == 3) v.dtype = DType(std::int32_t(p.num));
    if (p.number == 4) v.data.assign(p.content.begin(), p.content.end());
  }
  std::int64_t shape[] = {v.rows, v.cols};
  check_array(shape, v.dtype, v.data);
}
void Special<Matrix>::write(const Matrix& v, Writer& w) {
  std::int64_t shape[] = {v.rows, v.cols};
  check_array(shape, v.dtype, v.data);
  std::uint64_t head[] = {std::uint64_t(v.rows), std::uint64_t(v.cols), std::uint64_t(v.dtype)};
  for (std::uint32_t i = 0; i < 3; ++i) {
    if (head[i] == 0) continue;
    w.tag(i + 1, varint);
    w.number(head[i]);
  }
  if (!v.data.empty()) w.delimited(4, [&] { Single<Bytes, Form::plain, Form::plain>::write(v.data, w); });
}
void Special<Matrix>::assign(Matrix& v, const Dyn& d) {
  if (d.kind != Dyn::array || d.array_.shape.size() != 2) unfit(d, "a matrix");
  v = {d.array_.shape[0], d.array_.shape[1], d.array_.dtype, d.array_.data};
}
void Special<Matrix>::check(const Shape& s) {
  if (s.kind != Shape::array) unfit(s, "a matrix");
}

void Special<NDArray>::read(NDArray& v, const Record& r) {
  Reader in(r.content, r.depth + 1);
  for (Record p; in.next(p);) {
    if (p.number == 1 && p.wire == bytes) {
      Reader extents(p.content, r.depth + 1);
      while (!extents.done()) v.shape.push_back(std::int64_t(extents.number()));
    } else if (p.number == 1 && p.wire == varint) {
      v.shape.push_back(std::int64_t(p.num));
    } else if (p.number == 2 && p.wire == varint) {
      v.dtype = DType(std::int32_t(p.num));
    } else if (p.number == 3 && p.wire == bytes) {
      v.data.assign(p.content.begin(), p.content.end());
    } else if (p.number <= 3) {
      throw Error("an array is malformed");
    }
  }
  check_array(v.shape, v.dtype, v.data);
}
void Special<NDArray>::write(const NDArray& v, Writer& w) {
  check_array(v.shape, v.dtype, v.data);
  if (!v.shape.empty()) {
    w.delimited(1, [&] {
      for (auto n : v.shape) w.number(std::uint64_t(n));
    });
  }
  w.tag(2, varint);
  w.number(std::uint64_t(v.dtype));
  if (!v.data.empty()) w.delimited(3, [&] { Single<Bytes, Form::plain, Form::plain>::write(v.data, w); });
}
void Special<NDArray>::assign(NDArray& v, const Dyn& d) {
  if (d.kind != Dyn::array) unfit(d, "an array");
  v = d.array_;
}
void Special<NDArray>::check(const Shape& s) {
  if (s.kind != Shape::array) unfit(s, "an array");
}

// Data of any type.

void Special<Value>::read(Value& v, const Record& r) {
  v = {};
  Reader in(r.content, r.depth + 1);
  for (Record p; in.next(p);) {
    if (p.number > 12) continue;
    constexpr std::uint32_t wires[] = {0, varint, varint, varint, fixed32, fixed64};
    if (p.wire != (p.number < 6 ? wires[p.number] : bytes)) throw Error("a Value is malformed");
    auto special = [&]<class T>(T made) {
      Special<T>::read(made, p);
      v.is = std::move(made);
    };
    switch (p.number) {
      case 1:
        v.is = p.num != 0;
        break;
      case 2:
        v.is = std::int32_t(unzigzag(std::uint32_t(p.num)));
        break;
      case 3:
        v.is = std::int64_t(unzigzag(p.num));
        break;
      case 4:
        v.is = std::bit_cast<float>(std::uint32_t(p.num));
        break;
      case 5:
        v.is = std::bit_cast<double>(p.num);
        break;
      case 6:
        check_text(p.content);
        v.is = std::string(p.content);
        break;
      case 7:
        special(Time{});
        break;
      case 8:
        special(Duration{});
        break;
      case 9:
        special(NDArray{});
        break;
      case 10: {
        Value::List list;
        Reader items(p.content, p.depth + 1);
        for (Record i; items.next(i);) {
          if (i.number == 1) Field<Value::List, Form::plain, Form::plain>::read(list, i);
        }
        v.is = std::move(list);
        break;
      }
      case 11: {
        Value::Dict dict;
        Reader items(p.content, p.depth + 1);
        for (Record i; items.next(i);) {
          if (i.number == 1) Field<Value::Dict, Form::plain, Form::plain>::read(dict, i);
        }
        v.is = std::move(dict);
        break;
      }
      case 12:
        special(Link{});
        break;
    }
  }
}

void Special<Value>::write(const Value& v, Writer& w) {
  auto special = [&](std::uint32_t n, const auto& of) {
    w.delimited(n, [&] { Special<std::decay_t<decltype(of)>>::write(of, w); });
  };
  auto field = [&]<Form F = Form::plain>(std::uint32_t n, const auto& of) {
    Field<std::decay_t<decltype(of)>, F, Form::plain>::write(of, n, w, true);
  };
  switch (v.is.index()) {
    case 1:
      field(1, std::get<bool>(v.is));
      break;
    case 2:
      field.template operator()<Form::zigzag>(2, std::get<std::int32_t>(v.is));
      break;
    case 3:
      field.template operator()<Form::zigzag>(3, std::get<std::int64_t>(v.is));
      break;
    case 4:
      field(4, std::get<float>(v.is));
      break;
    case 5:
      field(5, std::get<double>(v.is));
      break;
    case 6:
      field(6, std::get<std::string>(v.is));
      break;
    case 7:
      special(7, std::get<Time>(v.is));
      break;
    case 8:
      special(8, std::get<Duration>(v.is));
      break;
    case 9:
      special(9, std::get<NDArray>(v.is));
      break;
    case 10:
      w.delimited(10, [&] { Field<Value::List, Form::plain, Form::plain>::write(std::get<Value::List>(v.is), 1, w, true); });
      break;
    case 11:
      w.delimited(11, [&] { Field<Value::Dict, Form::plain, Form::plain>::write(std::get<Value::Dict>(v.is), 1, w, true); });
      break;
    case 12:
      special(12, std::get<Link>(v.is));
      break;
  }
}
void Special<Value>::assign(Value& v, const Dyn& d) { v = value_of(d); }
void Special<Value>::check(const Shape&) {}

Value value_of(const Dyn& v) {
  Value made;
  switch (v.kind) {
    case Dyn::null:
      break;
    case Dyn::boolean:
      made.is = v.integer_ != 0;
      break;
    case Dyn::integer:
      made.is = v.integer_;
      break;
    case Dyn::natural:
      made.is = whole<std::int64_t>(v, "a Value");
      break;
    case Dyn::real:
      made.is = v.real_;
      break;
    case Dyn::text:
      made.is = v.text_;
      break;
    case Dyn::key:
      if (v.text_.empty()) {
        made.is = v.integer_;
      } else {
        made.is = v.text_;
      }
      break;
    case Dyn::raw:
      made.is = NDArray{{std::int64_t(v.text_.size())}, DType::uint8, Bytes(v.text_.begin(), v.text_.end())};
      break;
    case Dyn::time:
      made.is = Time(Duration(v.integer_));
      break;
    case Dyn::duration:
      made.is = Duration(v.integer_);
      break;
    case Dyn::link:
      made.is = Link{v.text_};
      break;
    case Dyn::array:
      made.is = v.array_;
      break;
    case Dyn::list: {
      Value::List list;
      for (const auto& item : v.items) list.push_back(value_of(item));
      made.is = std::move(list);
      break;
    }
    case Dyn::dict: {
      Value::Dict dict;
      for (std::size_t i = 0; i < v.items.size(); ++i) {
        const Dyn& key = v.keys[i];
        dict[key.kind == Dyn::text ? key.text_ : key.kind == Dyn::boolean ? (key.integer_ != 0 ? "true" : "false") : words(key)] = value_of(v.items[i]);
      }
      made.is = std::move(dict);
      break;
    }
    case Dyn::object: {
      Value::Dict dict;
      for (const auto& [name, value] : v.members) {
        if (value.kind != Dyn::null) dict[name] = value_of(value);
      }
      made.is = std::move(dict);
      break;
    }
  }
  return made;
}

Dyn dyn_of(const Value& v) {
  Dyn made;
  auto set = [&](Dyn::Kind kind, std::int64_t n) {
    made.kind = kind;
    made.integer_ = n;
  };
  std::visit(
      [&](const auto& is) {
        using T = std::decay_t<decltype(is)>;
        if constexpr (std::is_same_v<T, bool>) set(Dyn::boolean, is);
        else if constexpr (std::is_integral_v<T>) set(Dyn::integer, is);
        else if constexpr (std::is_floating_point_v<T>) made.kind = Dyn::real, made.real_ = is;
        else if constexpr (std::is_same_v<T, std::string>) made.kind = Dyn::text, made.text_ = is;
        else if constexpr (std::is_same_v<T, Time>) set(Dyn::time, is.time_since_epoch().count());
        else if constexpr (std::is_same_v<T, Duration>) set(Dyn::duration, is.count());
        else if constexpr (std::is_same_v<T, NDArray>) made.kind = Dyn::array, made.array_ = is;
        else if constexpr (std::is_same_v<T, Link>) made.kind = Dyn::link, made.text_ = is.id;
        else if constexpr (std::is_same_v<T, Value::List>) {
          made.kind = Dyn::list;
          for (const auto& item : is) made.items.push_back(dyn_of(item));
        } else if constexpr (std::is_same_v<T, Value::Dict>) {
          made.kind = Dyn::dict;
          for (const auto& [key, item] : is) {
            Dyn text;
            text.kind = Dyn::text;
            text.text_ = key;
            made.keys.push_back(std::move(text));
            made.items.push_back(dyn_of(item));
          }
        }
      },
      v.is);
  return made;
}

// The special types that have structs.

Layout LayoutOf<Vector3>::get() {
  static constexpr Member members[] = {
      member<Vector3, &Vector3::x>(1, "x"),
      member<Vector3, &Vector3::y>(2, "y"),
      member<Vector3, &Vector3::z>(3, "z"),
  };
  return {name, members};
}

Layout LayoutOf<Quaternion>::get() {
  static constexpr Member members[] = {
      member<Quaternion, &Quaternion::x>(1, "x"),
      member<Quaternion, &Quaternion::y>(2, "y"),
      member<Quaternion, &Quaternion::z>(3, "z"),
      member<Quaternion, &Quaternion::w>(4, "w"),
  };
  return {name, members};
}

Layout LayoutOf<Pose>::get() {
  static constexpr Member members[] = {
      member<Pose, &Pose::position>(1, "position"),
      member<Pose, &Pose::orientation>(2, "orientation"),
  };
  return {name, members};
}

Layout LayoutOf<Image>::get() {
  static constexpr Member members[] = {
      member<Image, &Image::timestamp>(1, "timestamp"),
      member<Image, &Image::width, Form::fixed>(2, "width"),
      member<Image, &Image::height, Form::fixed>(3, "height"),
      member<Image, &Image::encoding>(4, "encoding"),
      member<Image, &Image::step, Form::fixed>(5, "step"),
      member<Image, &Image::data>(6, "data"),
      member<Image, &Image::frame_id>(7, "frame_id"),
  };
  return {name, members};
}

Layout LayoutOf<PackedElementField>::get() {
  static constexpr Member members[] = {
      member<PackedElementField, &PackedElementField::name>(1, "name"),
      member<PackedElementField, &PackedElementField::offset, Form::fixed>(2, "offset"),
      member<PackedElementField, &PackedElementField::type>(3, "type"),
  };
  return {name, members};
}

Layout LayoutOf<PointCloud>::get() {
  static constexpr Member members[] = {
      member<PointCloud, &PointCloud::timestamp>(1, "timestamp"),
      member<PointCloud, &PointCloud::frame_id>(2, "frame_id"),
      member<PointCloud, &PointCloud::pose>(3, "pose"),
      member<PointCloud, &PointCloud::point_stride, Form::fixed>(4, "point_stride"),
      member<PointCloud, &PointCloud::fields>(5, "fields"),
      member<PointCloud, &PointCloud::data>(6, "data"),
  };
  return {name, members};
}

}  // namespace codec

std::string Vector3::to_payload() const { return codec::write(*this); }
Vector3 Vector3::from_payload(std::string_view bytes, const Sender* sender) { return codec::read<Vector3>(bytes, sender); }
std::string Quaternion::to_payload() const { return codec::write(*this); }
Quaternion Quaternion::from_payload(std::string_view bytes, const Sender* sender) { return codec::read<Quaternion>(bytes, sender); }
std::string Pose::to_payload() const { return codec::write(*this); }
Pose Pose::from_payload(std::string_view bytes, const Sender* sender) { return codec::read<Pose>(bytes, sender); }
std::string Image::to_payload() const { return codec::write(*this); }
Image Image::from_payload(std::string_view bytes, const Sender* sender) { return codec::read<Image>(bytes, sender); }
std::string PackedElementField::to_payload() const { return codec::write(*this); }
PackedElementField PackedElementField::from_payload(std::string_view bytes, const Sender* sender) { return codec::read<PackedElementField>(bytes, sender); }
std::string PointCloud::to_payload() const { return codec::write(*this); }
PointCloud PointCloud::from_payload(std::string_view bytes, const Sender* sender) { return codec::read<PointCloud>(bytes, sender); }

const Value& Value::operator[](std::string_view member) const {
  static const Value null;
  const Dict* dict = get<Dict>();
  if (dict == nullptr) return null;
  auto found = dict->find(std::string(member));
  return found == dict->end() ? null : found->second;
}

std::optional<double> Value::number() const {
  return std::visit(
      [](const auto& v) -> std::optional<double> {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(v)>>) return double(v);
        else return std::nullopt;
      },
      is);
}

std::string_view Value::text() const {
  if (auto* text = get<std::string>()) return *text;
  if (auto* link = get<Link>()) return link->id;
  return {};
}

Value Value::from_payload(std::string_view data, const Sender* sender) {
  Value v;
  if (sender != nullptr && sender->name() != "engram.idf.v1.Value") {
    return codec::value_of(codec::read_sent(data, *sender));
  }
  Special<Value>::read(v, {.wire = codec::bytes, .content = data, .depth = 0});
  return v;
}

std::string Value::to_payload() const {
  Writer w;
  Special<Value>::write(*this, w);
  return std::move(w.out);
}

}  // namespace engram::payload
