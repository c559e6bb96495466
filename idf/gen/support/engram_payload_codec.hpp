// How structs are read from payloads and written to them; only sources written by
// "engram gen cpp" include this. Written by engram gen: do not edit.
#ifndef ENGRAM_PAYLOAD_CODEC_HPP
#define ENGRAM_PAYLOAD_CODEC_HPP

#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "engram_payload.hpp"

namespace engram::payload::codec {

static_assert(std::endian::native == std::endian::little, "payloads are little-endian");

constexpr int max_depth = 100;  // messages in messages, as in the memory

enum Wire : std::uint32_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

/// How a whole number stands on the wire, where its type does not say it.
enum class Form { plain, zigzag, fixed };

/// A record of a message: num holds numbers, content what is delimited.
struct Record {
  std::uint32_t number = 0;
  std::uint32_t wire = 0;
  std::uint64_t num = 0;
  std::string_view content;
  int depth = 0;
};

/// Reads the records of a message.
class Reader {
 public:
  Reader(std::string_view data, int depth);
  bool next(Record& r);
  std::uint64_t number();  // a varint
  bool done() const { return at_ == end_; }

 private:
  std::uint64_t fixed(std::size_t n);
  void skip_group(std::uint32_t number, int depth);
  const char* at_;
  const char* end_;
  int depth_;
};

/// Writes records.
struct Writer {
  std::string out;
  int depth = 1;

  void number(std::uint64_t n);
  void tag(std::uint32_t field, Wire wire) { number(std::uint64_t(field) << 3 | wire); }
  void fixed(std::uint64_t n, std::size_t size) { out.append(reinterpret_cast<const char*>(&n), size); }

  template <class F>
  void delimited(std::uint32_t field, F&& content) {
    tag(field, bytes);
    std::size_t start = out.size();
    out.push_back(0);
    if (++depth > max_depth + 1) throw Error("objects are nested over 100 deep");
    content();
    --depth;
    close(start);
  }

 private:
  void close(std::size_t start);
};

void check_text(std::string_view text);
[[noreturn]] void wrong_wire();

/// What a sender's member can be.
struct Shape {
  enum Kind { boolean, number, text, raw, enumeration, object, time, duration, link, array, value, list, dict, tuple, optional };
  Kind kind = value;
  std::string scalar;   // of a number: "sint32"
  std::string name;     // of an object or enumeration
  bool matrix = false;  // of an array
  std::vector<Shape> parts;
};

std::string words(const Shape& shape);

/// A sender's value.
struct Dyn {
  enum Kind { null, boolean, integer, natural, real, text, raw, key, object, time, duration, link, array, list, dict };
  Kind kind = null;
  std::int64_t integer_ = 0;  // also of a bool, time, duration, and the number of an enumeration
  std::uint64_t natural_ = 0;
  double real_ = 0;
  std::string text_;  // also of bytes and links, and the key of an enumeration
  NDArray array_;
  std::vector<Dyn> items;                         // of a list, and the values of a dict
  std::vector<Dyn> keys;                          // of a dict
  std::vector<std::pair<std::string, Dyn>> members;  // of an object
};

std::string words(const Dyn& v);
[[noreturn]] void unfit(const Dyn& v, std::string_view to);
Value value_of(const Dyn& v);
Dyn dyn_of(const Value& v);

/// Pairs of types that were compared, so that those that contain themselves end.
struct Compared {
  const Sender::Types& types;
  std::vector<std::pair<std::string, std::string_view>> seen;
};

/// What is told of a type's members.
struct Member;
struct Layout {
  std::string_view name;
  std::span<const Member> members;
};

/// One member, whose functions take the object that has it.
struct Member {
  std::uint32_t number;
  const char* name;
  void (*read)(void*, const Record&);
  void (*write)(const void*, std::uint32_t, Writer&);
  void (*assign)(void*, const Dyn&);
  void (*check)(const Shape&, Compared&);
  bool (*is_set)(const void*);
  void (*reset)(void*);
  int oneof;  // of members that exclude each other; 0 for none
};

void read_object(void* object, const Layout& layout, std::string_view data, int depth);
void write_object(const void* object, const Layout& layout, Writer& w);
void assign_object(void* object, const Layout& layout, const Dyn& v);
void check_object(const Shape& from, const Layout& layout, Compared& compared);
/// A payload of the sender's type.
Dyn read_sent(std::string_view data, const Sender& sender);
void cast_object(void* object, const Layout& layout, std::string_view data, const Sender& sender);

/// What an optional shape holds, else the shape.
const Shape& bare(const Shape& s);

/// Has X, a Single or a Field, check what stands in a shape; a Value shows what it is later.
template <class X>
void check_as(const Shape& s, Compared& c) {
  if (const Shape& b = bare(s); b.kind != Shape::value) X::check(b, c);
}

/// The layout of a struct; sources specialise it.
template <class T>
struct LayoutOf;

/// The keys of an enumeration; sources specialise it.
template <class T>
struct KeysOf;

struct Key {
  const char* key;
  std::int32_t number;
};

// The structs of the library.

template <>
struct LayoutOf<Vector3> {
  static constexpr std::string_view name = "foxglove.Vector3";
  static Layout get();
};

template <>
struct LayoutOf<Quaternion> {
  static constexpr std::string_view name = "foxglove.Quaternion";
  static Layout get();
};

template <>
struct LayoutOf<Pose> {
  static constexpr std::string_view name = "foxglove.Pose";
  static Layout get();
};

template <>
struct LayoutOf<Image> {
  static constexpr std::string_view name = "foxglove.RawImage";
  static Layout get();
};

template <>
struct LayoutOf<PackedElementField> {
  static constexpr std::string_view name = "foxglove.PackedElementField";
  static Layout get();
};

template <>
struct LayoutOf<PointCloud> {
  static constexpr std::string_view name = "foxglove.PointCloud";
  static Layout get();
};

template <>
struct KeysOf<NumericType> {
  static constexpr std::string_view name = "foxglove.PackedElementField.NumericType";
  static constexpr Key keys[] = {{"UNKNOWN", 0}, {"UINT8", 1}, {"INT8", 2}, {"UINT16", 3}, {"INT16", 4}, {"UINT32", 5}, {"INT32", 6}, {"FLOAT32", 7}, {"FLOAT64", 8}};
};

std::int32_t enum_of(const Dyn& v, std::string_view name, std::span<const Key> keys);
bool is_numeric(const Shape& s);
[[noreturn]] void unfit(const Shape& from, std::string_view to);

// Single values. Each has: the wire type; read, of a record that has it; write, of the content;
// zero; assign, of a sender's value; and check, of a sender's shape.

template <class T, Form F, Form K>
struct Single;

/// A sender's whole number or real as a whole number of type T.
template <class T>
T whole(const Dyn& v, const char* to) {
  auto fail = [&] { throw Error("the number " + words(v) + " does not fit " + to); };
  switch (v.kind) {
    case Dyn::integer:
    case Dyn::key:
      if (!std::in_range<T>(v.integer_)) fail();
      return T(v.integer_);
    case Dyn::natural:
      if (!std::in_range<T>(v.natural_)) fail();
      return T(v.natural_);
    case Dyn::real: {
      // 2^digits is the first that does not fit, and a double.
      double limit = 2.0 * double(std::uint64_t(1) << (std::numeric_limits<T>::digits - 1));
      if (!(v.real_ < limit && v.real_ >= (std::is_signed_v<T> ? -limit : 0)) || double(T(v.real_)) != v.real_) fail();
      return T(v.real_);
    }
    default:
      unfit(v, to);
  }
}

template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
constexpr const char* name_of_number() {
  return std::is_signed_v<T> ? (sizeof(T) == 4 ? "int32" : "int64") : (sizeof(T) == 4 ? "uint32" : "uint64");
}

template <class T, Form F, Form K>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
struct Single<T, F, K> {
  static constexpr Wire wire = F != Form::fixed ? varint : sizeof(T) == 4 ? fixed32 : fixed64;
  static constexpr const char* name = name_of_number<T>();
  static void read(T& v, const Record& r) {
    if constexpr (F == Form::zigzag) {
      std::uint64_t n = sizeof(T) == 4 ? std::uint32_t(r.num) : r.num;
      v = T(n >> 1) ^ -T(n & 1);
    } else {
      v = T(r.num);
    }
  }
  static void write(const T& v, Writer& w) {
    using U = std::make_unsigned_t<T>;
    if constexpr (F == Form::zigzag) {
      w.number(U(U(v) << 1) ^ U(v >> (sizeof(T) * 8 - 1)));
    } else if constexpr (F == Form::fixed) {
      w.fixed(U(v), sizeof(T));
    } else if constexpr (std::is_signed_v<T>) {
      w.number(std::uint64_t(std::int64_t(v)));
    } else {
      w.number(v);
    }
  }
  static bool zero(const T& v) { return v == 0; }
  static void assign(T& v, const Dyn& d) { v = whole<T>(d, name); }
  static void check(const Shape& s, Compared&) {
    if (!is_numeric(s)) unfit(s, name);
  }
};

template <Form F, Form K>
struct Single<bool, F, K> {
  static constexpr Wire wire = varint;
  static void read(bool& v, const Record& r) { v = r.num != 0; }
  static void write(const bool& v, Writer& w) { w.number(v); }
  static bool zero(const bool& v) { return !v; }
  static void assign(bool& v, const Dyn& d) {
    if (d.kind != Dyn::boolean) unfit(d, "a bool");
    v = d.integer_ != 0;
  }
  static void check(const Shape& s, Compared&) {
    if (s.kind != Shape::boolean) unfit(s, "a bool");
  }
};

template <class T, Form F, Form K>
  requires std::is_floating_point_v<T>
struct Single<T, F, K> {
  using U = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  static constexpr Wire wire = sizeof(T) == 4 ? fixed32 : fixed64;
  static constexpr const char* name = sizeof(T) == 4 ? "float" : "double";
  static void read(T& v, const Record& r) { v = std::bit_cast<T>(U(r.num)); }
  static void write(const T& v, Writer& w) { w.fixed(std::bit_cast<U>(v), sizeof(T)); }
  static bool zero(const T& v) { return std::bit_cast<U>(v) == 0; }
  static void assign(T& v, const Dyn& d) {
    bool fits = true;
    switch (d.kind) {
      case Dyn::real:
        fits = sizeof(T) == 8 || !(d.real_ - d.real_ == 0) || (d.real_ <= double(std::numeric_limits<T>::max()) && d.real_ >= double(std::numeric_limits<T>::lowest()));
        if (fits) v = T(d.real_);
        break;
      case Dyn::integer:
      case Dyn::key:
        v = T(d.integer_);
        fits = static_cast<long double>(v) == static_cast<long double>(d.integer_);
        break;
      case Dyn::natural:
        v = T(d.natural_);
        fits = static_cast<long double>(v) == static_cast<long double>(d.natural_);
        break;
      default:
        unfit(d, name);
    }
    if (!fits) throw Error("the number " + words(d) + " does not fit " + name);
  }
  static void check(const Shape& s, Compared&) {
    if (!is_numeric(s)) unfit(s, name);
  }
};

template <class T, Form F, Form K>
  requires std::is_enum_v<T>
struct Single<T, F, K> {
  static constexpr Wire wire = varint;
  static void read(T& v, const Record& r) { v = T(std::int32_t(r.num)); }
  static void write(const T& v, Writer& w) { w.number(std::uint64_t(std::int64_t(v))); }
  static bool zero(const T& v) { return v == T(0); }
  static void assign(T& v, const Dyn& d) { v = T(enum_of(d, KeysOf<T>::name, KeysOf<T>::keys)); }
  static void check(const Shape& s, Compared&) {
    if (!is_numeric(s) && s.kind != Shape::text) unfit(s, KeysOf<T>::name);
  }
};

template <Form F, Form K>
struct Single<std::string, F, K> {
  static constexpr Wire wire = bytes;
  static void read(std::string& v, const Record& r) {
    check_text(r.content);
    v.assign(r.content);
  }
  static void write(const std::string& v, Writer& w) {
    check_text(v);
    w.out.append(v);
  }
  static bool zero(const std::string& v) { return v.empty(); }
  static void assign(std::string& v, const Dyn& d) {
    if (d.kind == Dyn::key && d.text_.empty()) {
      v = std::to_string(d.integer_);
    } else if (d.kind == Dyn::text || d.kind == Dyn::link || d.kind == Dyn::key) {
      v = d.text_;
    } else {
      unfit(d, "a string");
    }
  }
  static void check(const Shape& s, Compared&) {
    if (s.kind != Shape::text && s.kind != Shape::link && s.kind != Shape::enumeration) unfit(s, "a string");
  }
};

template <Form F, Form K>
struct Single<Bytes, F, K> {
  static constexpr Wire wire = bytes;
  static void read(Bytes& v, const Record& r) {
    auto* p = reinterpret_cast<const std::uint8_t*>(r.content.data());
    v.assign(p, p + r.content.size());
  }
  static void write(const Bytes& v, Writer& w) { w.out.append(reinterpret_cast<const char*>(v.data()), v.size()); }
  static bool zero(const Bytes& v) { return v.empty(); }
  static void assign(Bytes& v, const Dyn& d) {
    if (d.kind != Dyn::raw) unfit(d, "bytes");
    v.assign(d.text_.begin(), d.text_.end());
  }
  static void check(const Shape& s, Compared&) {
    if (s.kind != Shape::raw) unfit(s, "bytes");
  }
};

/// The special types, which the library reads and writes.
template <class T>
struct Special;

#define ENGRAM_PAYLOAD_SPECIAL(T)                  \
  template <>                                      \
  struct Special<T> {                              \
    static void read(T& v, const Record& r);       \
    static void write(const T& v, Writer& w);      \
    static void assign(T& v, const Dyn& d);        \
    static void check(const Shape& s);             \
  }
ENGRAM_PAYLOAD_SPECIAL(Time);
ENGRAM_PAYLOAD_SPECIAL(Duration);
ENGRAM_PAYLOAD_SPECIAL(Link);
ENGRAM_PAYLOAD_SPECIAL(NDArray);
ENGRAM_PAYLOAD_SPECIAL(Matrix);
ENGRAM_PAYLOAD_SPECIAL(Value);
#undef ENGRAM_PAYLOAD_SPECIAL

template <class T, Form F, Form K>
  requires requires(T& v, const Record& r) { Special<T>::read(v, r); }
struct Single<T, F, K> {
  static constexpr Wire wire = bytes;
  static void read(T& v, const Record& r) { Special<T>::read(v, r); }
  static void write(const T& v, Writer& w) { Special<T>::write(v, w); }
  static bool zero(const T&) { return false; }
  static void assign(T& v, const Dyn& d) { Special<T>::assign(v, d); }
  static void check(const Shape& s, Compared&) { Special<T>::check(s); }
};

template <class T, Form F, Form K>
  requires requires { LayoutOf<T>::name; }
struct Single<T, F, K> {
  static constexpr Wire wire = bytes;
  static void read(T& v, const Record& r) { read_object(&v, LayoutOf<T>::get(), r.content, r.depth + 1); }
  static void write(const T& v, Writer& w) { write_object(&v, LayoutOf<T>::get(), w); }
  static bool zero(const T&) { return false; }
  static void assign(T& v, const Dyn& d) { assign_object(&v, LayoutOf<T>::get(), d); }
  static void check(const Shape& s, Compared& c) { check_object(s, LayoutOf<T>::get(), c); }
};

// Members. Each has: read, of a record, which adds to what is there; write; assign; check.

template <class T, Form F, Form K>
struct Field {
  using S = Single<T, F, K>;
  static void read(T& v, const Record& r) {
    if (r.wire != S::wire) wrong_wire();
    S::read(v, r);
  }
  static void write(const T& v, std::uint32_t n, Writer& w, bool always) {
    if (!always && S::zero(v)) return;
    if constexpr (std::is_same_v<T, Bytes>) {  // of a known length
      w.tag(n, bytes);
      w.number(v.size());
      w.out.reserve(w.out.size() + v.size() + 64);  // and the lengths of what it is in
      S::write(v, w);
    } else if constexpr (S::wire == bytes) {
      w.delimited(n, [&] { S::write(v, w); });
    } else {
      w.tag(n, S::wire);
      S::write(v, w);
    }
  }
  static void assign(T& v, const Dyn& d) { S::assign(v, d); }
  static void check(const Shape& s, Compared& c) { S::check(s, c); }
};

template <class O, class T, Form F, Form K>
struct OptionalField {
  using S = Single<T, F, K>;
  static void read(O& v, const Record& r) {
    if (r.wire != S::wire) wrong_wire();
    if (!v.has_value()) v.emplace();
    S::read(*v, r);
  }
  static void write(const O& v, std::uint32_t n, Writer& w, bool) {
    if (!v.has_value()) return;
    if constexpr (S::wire == bytes) {
      w.delimited(n, [&] { S::write(*v, w); });
    } else {
      w.tag(n, S::wire);
      S::write(*v, w);
    }
  }
  static void assign(O& v, const Dyn& d) {
    v.reset();
    if (d.kind != Dyn::null) S::assign(v.emplace(), d);
  }
  static void check(const Shape& s, Compared& c) { S::check(s, c); }
};

template <class T, Form F, Form K>
struct Field<std::optional<T>, F, K> : OptionalField<std::optional<T>, T, F, K> {};

template <class T, Form F, Form K>
struct Field<Box<T>, F, K> : OptionalField<Box<T>, T, F, K> {};

template <class T>
constexpr bool is_list = false;
template <class T>
constexpr bool is_list<std::vector<T>> = !std::is_same_v<T, std::uint8_t>;

template <class L, Form F, Form K>
  requires is_list<L>
struct Field<L, F, K> {
  using T = typename L::value_type;
  using S = Single<T, F, K>;
  static void read(L& v, const Record& r) {
    try {
      if (S::wire != bytes && r.wire == bytes) return packed(v, r);
      if (r.wire != S::wire) wrong_wire();
      T item{};
      S::read(item, r);
      v.push_back(std::move(item));
    } catch (const Error& e) {
      throw e.under("[" + std::to_string(v.size()) + "]");
    }
  }
  static void packed(L& v, const Record& r) {
    if constexpr (S::wire == fixed32 || S::wire == fixed64) {
      constexpr std::size_t size = S::wire == fixed32 ? 4 : 8;
      if (r.content.size() % size != 0) throw Error("the payload is cut");
      if constexpr (sizeof(T) == size) {
        std::size_t had = v.size();
        v.resize(had + r.content.size() / size);
        if (!r.content.empty()) std::memcpy(v.data() + had, r.content.data(), r.content.size());
      }
    } else if constexpr (S::wire == varint) {
      Reader in(r.content, r.depth);
      while (!in.done()) {
        T item{};
        S::read(item, Record{.wire = varint, .num = in.number()});
        v.push_back(item);
      }
    }
  }
  static void write(const L& v, std::uint32_t n, Writer& w, bool) {
    if constexpr (S::wire != bytes) {
      if (v.empty()) return;
      w.delimited(n, [&] {
        for (const auto& item : v) S::write(item, w);
      });
    } else {
      std::size_t i = 0;
      for (const auto& item : v) {
        try {
          w.delimited(n, [&] { S::write(item, w); });
        } catch (const Error& e) {
          throw e.under("[" + std::to_string(i) + "]");
        }
        ++i;
      }
    }
  }
  static void assign(L& v, const Dyn& d) {
    v.clear();
    if (d.kind == Dyn::null) return;
    if (d.kind != Dyn::list) unfit(d, "a list");
    for (const auto& item : d.items) {
      try {
        T one{};
        S::assign(one, item);
        v.push_back(std::move(one));
      } catch (const Error& e) {
        throw e.under("[" + std::to_string(v.size()) + "]");
      }
    }
  }
  static void check(const Shape& s, Compared& c) {
    if (s.kind != Shape::list) unfit(s, "a list");
    check_as<S>(s.parts[0], c);
  }
};

template <class Key, class T, Form F, Form K>
struct Field<std::map<Key, T>, F, K> {
  using M = std::map<Key, T>;
  using S = Single<T, F, Form::plain>;
  using KS = Single<Key, K, Form::plain>;
  static std::string place(const Key& key) {
    if constexpr (std::is_same_v<Key, std::string>) return "[\"" + key + "\"]";
    else return "[\"" + std::to_string(key) + "\"]";
  }
  static void read(M& v, const Record& r) {
    if (r.wire != bytes) wrong_wire();
    Key key{};
    T value{};
    try {
      Reader in(r.content, r.depth + 1);
      for (Record part; in.next(part);) {
        if (part.number == 1) {
          if (part.wire != KS::wire) wrong_wire();
          KS::read(key, part);
        } else if (part.number == 2) {
          if (part.wire != S::wire) wrong_wire();
          S::read(value, part);
        }
      }
    } catch (const Error& e) {
      throw e.under(place(key));
    }
    v.insert_or_assign(std::move(key), std::move(value));
  }
  static void write(const M& v, std::uint32_t n, Writer& w, bool) {
    for (const auto& [key, value] : v) {
      try {
        w.delimited(n, [&] {
          Field<Key, K, Form::plain>::write(key, 1, w, true);
          if constexpr (S::wire == bytes) {
            w.delimited(2, [&] { S::write(value, w); });
          } else {
            w.tag(2, S::wire);
            S::write(value, w);
          }
        });
      } catch (const Error& e) {
        throw e.under(place(key));
      }
    }
  }
  static void assign(M& v, const Dyn& d) {
    v.clear();
    if (d.kind == Dyn::null) return;
    if (d.kind != Dyn::dict) unfit(d, "a dict");
    for (std::size_t i = 0; i < d.items.size(); ++i) {
      Key key{};
      KS::assign(key, d.keys[i]);
      try {
        S::assign(v[key], d.items[i]);
      } catch (const Error& e) {
        throw e.under(place(key));
      }
    }
  }
  static void check(const Shape& s, Compared& c) {
    if (s.kind != Shape::dict) unfit(s, "a dict");
    check_as<KS>(s.parts[0], c);
    check_as<S>(s.parts[1], c);
  }
};

// Lists, dicts, optional items and tuples where protobuf wants a message.

template <class T>
constexpr bool is_wrapped = is_list<T>;
template <class K, class V>
constexpr bool is_wrapped<std::map<K, V>> = true;
template <class T>
constexpr bool is_wrapped<std::optional<T>> = true;

template <class T, Form F, Form K>
  requires is_wrapped<T>
struct Single<T, F, K> {
  static constexpr Wire wire = bytes;
  static void read(T& v, const Record& r) {
    Reader in(r.content, r.depth + 1);
    for (Record part; in.next(part);) {
      if (part.number == 1) Field<T, F, K>::read(v, part);
    }
  }
  static void write(const T& v, Writer& w) { Field<T, F, K>::write(v, 1, w, false); }
  static bool zero(const T&) { return false; }
  static void assign(T& v, const Dyn& d) { Field<T, F, K>::assign(v, d); }
  static void check(const Shape& s, Compared& c) { Field<T, F, K>::check(s, c); }
};

template <class... T, Form F, Form K>
struct Single<std::tuple<T...>, F, K> {
  using Tuple = std::tuple<T...>;
  static constexpr Wire wire = bytes;

  template <class Call>
  static void each(Call&& call) {
    [&]<std::size_t... I>(std::index_sequence<I...>) { (call(std::integral_constant<std::size_t, I>{}), ...); }(std::index_sequence_for<T...>{});
  }
  template <std::size_t I>
  using Part = Field<std::tuple_element_t<I, Tuple>, F, K>;

  static void read(Tuple& v, const Record& r) {
    Reader in(r.content, r.depth + 1);
    for (Record part; in.next(part);) {
      each([&](auto i) {
        if (part.number == i + 1) Part<i>::read(std::get<i>(v), part);
      });
    }
  }
  static void write(const Tuple& v, Writer& w) {
    each([&](auto i) { Part<i>::write(std::get<i>(v), i + 1, w, false); });
  }
  static bool zero(const Tuple&) { return false; }
  static void assign(Tuple& v, const Dyn& d) {
    if (d.kind != Dyn::list || d.items.size() != sizeof...(T)) unfit(d, "a tuple of its parts");
    each([&](auto i) {
      try {
        if (d.items[i].kind != Dyn::null) Part<i>::assign(std::get<i>(v), d.items[i]);
      } catch (const Error& e) {
        throw e.under("[" + std::to_string(i) + "]");
      }
    });
  }
  static void check(const Shape& s, Compared& c) {
    if (s.kind != Shape::tuple || s.parts.size() != sizeof...(T)) unfit(s, "a tuple of its parts");
    each([&](auto i) { check_as<Part<i>>(s.parts[i], c); });
  }
};

template <class M>
struct MemberOf;
template <class C, class T>
struct MemberOf<T C::*> {
  using type = T;
};

/// A member of C: number, name, and the group of those that exclude each other.
template <class C, auto P, Form F = Form::plain, Form K = Form::plain>
constexpr Member member(std::uint32_t number, const char* name, int oneof = 0) {
  using T = typename MemberOf<decltype(P)>::type;
  using X = Field<T, F, K>;
  return {
      number,
      name,
      [](void* o, const Record& r) { X::read(static_cast<C*>(o)->*P, r); },
      [](const void* o, std::uint32_t n, Writer& w) { X::write(static_cast<const C*>(o)->*P, n, w, false); },
      [](void* o, const Dyn& d) { X::assign(static_cast<C*>(o)->*P, d); },
      check_as<X>,
      [](const void* o) {
        if constexpr (requires { (static_cast<const C*>(o)->*P).has_value(); }) return (static_cast<const C*>(o)->*P).has_value();
        else return true;
      },
      [](void* o) {
        if constexpr (requires { (static_cast<C*>(o)->*P).reset(); }) (static_cast<C*>(o)->*P).reset();
      },
      oneof,
  };
}

template <class T>
std::string write(const T& object) {
  Writer w;
  write_object(&object, LayoutOf<T>::get(), w);
  return std::move(w.out);
}

template <class T>
T read(std::string_view data, const Sender* sender) {
  T object{};
  if (sender == nullptr) {
    read_object(&object, LayoutOf<T>::get(), data, 1);
  } else {
    cast_object(&object, LayoutOf<T>::get(), data, *sender);
  }
  return object;
}

}  // namespace engram::payload::codec

#endif  // ENGRAM_PAYLOAD_CODEC_HPP
