#include "types.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/unknown_field_set.h>

#include <cmath>
#include <limits>

namespace engram {

namespace pb = google::protobuf;

namespace {

constexpr const char* any_data = "engram.idf.v1.Value";

[[noreturn]] void wrong(const std::string& path, const std::string& why) { throw Error(Code::invalid, path, why); }

std::string below(const std::string& path, const std::string& name) { return path.empty() ? name : path + "." + name; }

/// The option of a message that says how a list, dict, tuple or optional is written as one; 0 for none.
int wrapper(const pb::Descriptor* type) {
  const auto& options = type->options().unknown_fields();
  for (int i = 0; i < options.field_count(); ++i) {
    if (options.field(i).number() == 54100) return int(options.field(i).varint());
  }
  return 0;
}

/// Writes members by name into a message.
class Encoder {
 public:
  void message(pb::Message& m, const Value& v, const std::string& path) {
    const auto* type = m.GetDescriptor();
    const std::string& name = type->full_name();
    if (name == any_data) return parse(m, v.to_payload(), path);
    if (name == "google.protobuf.Timestamp" || name == "google.protobuf.Duration") return seconds(m, v, path);
    if (name == "engram.idf.v1.Link") return link(m, v, path);
    if (name == "engram.idf.v1.NDArray") return array(m, v, path);
    if (name == "engram.idf.v1.Matrix") return matrix(m, v, path);
    if (int kind = wrapper(type); kind != 0) return wrapped(m, kind, v, path);
    if (const auto* list = v.get<List>(); list && in_order(name) && list->size() == std::size_t(type->field_count())) {
      for (std::size_t i = 0; i < list->size(); ++i) member(m, type->field(int(i)), (*list)[i], path);
      return;
    }
    const auto* dict = v.get<Dict>();
    if (!dict) wrong(path.empty() ? name : path, "members of " + name + " by name are wanted");
    for (const auto& [key, value] : *dict) {
      const auto* f = type->FindFieldByName(key);
      if (!f) wrong(below(path, key), name + " has no such member; it has " + members(type));
      if (!std::holds_alternative<std::monostate>(value.is)) member(m, f, value, below(path, key));
    }
  }

 private:
  static bool in_order(const std::string& name) { return name == "foxglove.Vector3" || name == "foxglove.Quaternion"; }

  static std::string members(const pb::Descriptor* type) {
    std::string all;
    for (int i = 0; i < type->field_count(); ++i) all += (i ? ", " : "") + type->field(i)->name();
    return all.empty() ? "none" : all;
  }

  static void parse(pb::Message& m, const std::string& bytes, const std::string& path) {
    if (!m.ParseFromString(bytes)) wrong(path, "it cannot be encoded");
  }

  static void set(pb::Message& m, const char* field, std::int64_t n) {
    const auto* f = m.GetDescriptor()->FindFieldByName(field);
    if (f->cpp_type() == pb::FieldDescriptor::CPPTYPE_INT64) m.GetReflection()->SetInt64(&m, f, n);
    else if (f->cpp_type() == pb::FieldDescriptor::CPPTYPE_ENUM) m.GetReflection()->SetEnumValue(&m, f, int(n));
    else m.GetReflection()->SetInt32(&m, f, std::int32_t(n));
  }

  static void set(pb::Message& m, const char* field, std::string text) {
    m.GetReflection()->SetString(&m, m.GetDescriptor()->FindFieldByName(field), std::move(text));
  }

  static void seconds(pb::Message& m, const Value& v, const std::string& path) {
    bool time = m.GetDescriptor()->name() == "Timestamp";
    std::int64_t ns;
    if (const auto* t = v.get<Time>(); t && time) ns = t->time_since_epoch().count();
    else if (const auto* d = v.get<Duration>(); d && !time) ns = d->count();
    else wrong(path, time ? "an engram::Time is wanted" : "an engram::Duration is wanted");
    auto whole = ns / 1000000000, rest = ns % 1000000000;
    if (time && rest < 0) whole -= 1, rest += 1000000000;
    set(m, "seconds", whole);
    set(m, "nanos", rest);
  }

  static void link(pb::Message& m, const Value& v, const std::string& path) {
    if (!v.get<Link>() && !v.get<std::string>()) wrong(path, "a link is an ID");
    set(m, "id", std::string(v.text()));
  }

  static void array(pb::Message& m, const Value& v, const std::string& path) {
    const auto* a = v.get<payload::NDArray>();
    if (!a) wrong(path, "an array, engram::payload::NDArray, is wanted");
    const auto* shape = m.GetDescriptor()->FindFieldByName("shape");
    for (auto extent : a->shape) m.GetReflection()->AddInt64(&m, shape, extent);
    set(m, "dtype", std::int64_t(a->dtype));
    set(m, "data", std::string(a->data.begin(), a->data.end()));
  }

  static void matrix(pb::Message& m, const Value& v, const std::string& path) {
    const auto* a = v.get<payload::NDArray>();
    if (!a || a->shape.size() != 2) wrong(path, "an array of two dimensions, engram::payload::NDArray, is wanted");
    set(m, "rows", a->shape[0]);
    set(m, "cols", a->shape[1]);
    set(m, "dtype", std::int64_t(a->dtype));
    set(m, "data", std::string(a->data.begin(), a->data.end()));
  }

  void wrapped(pb::Message& m, int kind, const Value& v, const std::string& path) {
    const auto* type = m.GetDescriptor();
    if (kind != 3) return member(m, type->field(0), v, path);
    const auto* list = v.get<List>();
    if (!list || list->size() != std::size_t(type->field_count())) wrong(path, "a list of " + std::to_string(type->field_count()) + " is wanted");
    for (int i = 0; i < type->field_count(); ++i) member(m, type->field(i), (*list)[std::size_t(i)], path + "[" + std::to_string(i) + "]");
  }

  void member(pb::Message& m, const pb::FieldDescriptor* f, const Value& v, const std::string& path) {
    const auto* r = m.GetReflection();
    if (f->is_map()) {
      const auto* dict = v.get<Dict>();
      if (!dict) wrong(path, "a dict is wanted");
      for (const auto& [key, value] : *dict) {
        auto* entry = r->AddMessage(&m, f);
        const auto* k = f->message_type()->map_key();
        Value typed = key;
        if (k->cpp_type() == pb::FieldDescriptor::CPPTYPE_BOOL) typed = key == "true";
        else if (k->cpp_type() != pb::FieldDescriptor::CPPTYPE_STRING) typed = std::int64_t(std::strtoll(key.c_str(), nullptr, 10));
        member(*entry, k, typed, path);
        member(*entry, f->message_type()->map_value(), value, below(path, key));
      }
    } else if (!f->is_repeated()) {
      single(m, f, v, path);
    } else if (const auto* list = v.get<List>()) {
      for (std::size_t i = 0; i < list->size(); ++i) single(m, f, (*list)[i], path + "[" + std::to_string(i) + "]");
    } else {
      wrong(path, "a list is wanted");
    }
  }

  template <class T>
  static T whole(const Value& v, const std::string& path) {
    std::int64_t n;
    if (const auto* i = v.get<std::int32_t>()) n = *i;
    else if (const auto* i = v.get<std::int64_t>()) n = *i;
    else wrong(path, "a whole number is wanted");
    if (!std::in_range<T>(n)) throw Error(Code::out_of_range, path, std::to_string(n) + " does not fit");
    return T(n);
  }

  static double real(const Value& v, const std::string& path) {
    auto n = v.number();
    if (!n || v.get<bool>()) wrong(path, "a number is wanted");
    return *n;
  }

  void single(pb::Message& m, const pb::FieldDescriptor* f, const Value& v, const std::string& path) {
    const auto* r = m.GetReflection();
    auto put = [&](auto set, auto add, auto value) { f->is_repeated() ? (r->*add)(&m, f, value) : (r->*set)(&m, f, value); };
    using R = pb::Reflection;
    switch (f->cpp_type()) {
      case pb::FieldDescriptor::CPPTYPE_INT32: return put(&R::SetInt32, &R::AddInt32, whole<std::int32_t>(v, path));
      case pb::FieldDescriptor::CPPTYPE_INT64: return put(&R::SetInt64, &R::AddInt64, whole<std::int64_t>(v, path));
      case pb::FieldDescriptor::CPPTYPE_UINT32: return put(&R::SetUInt32, &R::AddUInt32, whole<std::uint32_t>(v, path));
      case pb::FieldDescriptor::CPPTYPE_UINT64: return put(&R::SetUInt64, &R::AddUInt64, whole<std::uint64_t>(v, path));
      case pb::FieldDescriptor::CPPTYPE_DOUBLE: return put(&R::SetDouble, &R::AddDouble, real(v, path));
      case pb::FieldDescriptor::CPPTYPE_FLOAT: {
        double n = real(v, path);
        if (std::isfinite(n) && std::abs(n) > double(std::numeric_limits<float>::max())) throw Error(Code::out_of_range, path, "the number does not fit into a float");
        return put(&R::SetFloat, &R::AddFloat, float(n));
      }
      case pb::FieldDescriptor::CPPTYPE_BOOL:
        if (!v.get<bool>()) wrong(path, "a bool is wanted");
        return put(&R::SetBool, &R::AddBool, *v.get<bool>());
      case pb::FieldDescriptor::CPPTYPE_ENUM: return put(&R::SetEnumValue, &R::AddEnumValue, key(f->enum_type(), v, path));
      case pb::FieldDescriptor::CPPTYPE_MESSAGE: return message(f->is_repeated() ? *r->AddMessage(&m, f) : *r->MutableMessage(&m, f), v, path);
      case pb::FieldDescriptor::CPPTYPE_STRING: break;
    }
    std::string text;
    if (const auto* a = v.get<payload::NDArray>(); a && f->type() == pb::FieldDescriptor::TYPE_BYTES) text.assign(a->data.begin(), a->data.end());
    else if (v.get<std::string>() || v.get<Link>()) text = v.text();
    else wrong(path, f->type() == pb::FieldDescriptor::TYPE_BYTES ? "bytes are wanted: an array or a text" : "a text is wanted");
    f->is_repeated() ? r->AddString(&m, f, std::move(text)) : r->SetString(&m, f, std::move(text));
  }

  /// The number of an enumeration's key, as it was written.
  static int key(const pb::EnumDescriptor* type, const Value& v, const std::string& path) {
    if (!v.get<std::string>()) return whole<std::int32_t>(v, path);
    std::string all;
    for (int i = 0; i < type->value_count(); ++i) {
      const auto* value = type->value(i);
      std::string written = value->name();
      const auto& options = value->options().unknown_fields();
      for (int o = 0; o < options.field_count(); ++o) {
        if (options.field(o).number() == 54120) written = options.field(o).length_delimited();
      }
      if (v.text() == written || v.text() == value->name()) return value->number();
      all += (i ? ", " : "") + written;
    }
    wrong(path, std::string(v.text()) + " is none of " + all);
  }
};

}  // namespace

struct Types::Known {
  Known(const std::string& name, const std::string& descriptors) : sender(std::make_shared<payload::Sender>(name, descriptors)) {
    if (name == any_data) return;
    pb::FileDescriptorSet files;
    if (!files.ParseFromString(descriptors)) throw Error(Code::corrupt, name, "the type's descriptors cannot be read");
    for (const auto& file : files.file()) pool.BuildFile(file);
    type = pool.FindMessageTypeByName(name);
    if (!type) throw Error(Code::corrupt, name, "the type's descriptors cannot be read");
    prototype = factory.GetPrototype(type);
  }

  std::shared_ptr<const payload::Sender> sender;
  pb::DescriptorPool pool;
  pb::DynamicMessageFactory factory;
  const pb::Descriptor* type = nullptr;
  const pb::Message* prototype = nullptr;
};

void Types::fetch_by(Fetch fetch) {
  std::lock_guard lock(mutex_);
  fetch_ = std::move(fetch);
}

std::shared_ptr<const Types::Known> Types::known(const std::string& name) {
  Fetch fetch;
  {
    std::lock_guard lock(mutex_);
    if (auto k = known_.find(name); k != known_.end()) return k->second;
    fetch = fetch_;
  }
  if (name != any_data && !fetch) throw Error(Code::unavailable, name, "the type is not known any more: the client was closed");
  std::shared_ptr<const Known> made;
  try {
    made = std::make_shared<Known>(name, name == any_data ? "" : fetch(name));
  } catch (const payload::Error& e) {
    throw Error(Code::corrupt, name, e.what());
  }
  std::lock_guard lock(mutex_);
  return known_.try_emplace(name, std::move(made)).first->second;
}

std::shared_ptr<const payload::Sender> Types::get(const std::string& name) { return known(name)->sender; }

std::string Types::encode(const std::string& name, const Value& value) {
  try {
    if (name == any_data) return value.to_payload();
    auto type = known(name);
    std::unique_ptr<pb::Message> m(type->prototype->New());
    Encoder().message(*m, value, "");
    return m->SerializeAsString();
  } catch (const payload::Error& e) {
    throw Error(Code::invalid, e.member().empty() ? name : e.member(), e.reason());
  }
}

}  // namespace engram
