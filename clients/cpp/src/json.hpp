// JSON as values.
#pragma once

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>

#include <optional>
#include <string>

#include "engram/snapshot.hpp"

namespace engram {

inline Value value_of(const google::protobuf::Value& v) {
  switch (v.kind_case()) {
    case google::protobuf::Value::kBoolValue: return v.bool_value();
    case google::protobuf::Value::kNumberValue: return v.number_value();
    case google::protobuf::Value::kStringValue: return v.string_value();
    case google::protobuf::Value::kListValue: {
      List list;
      for (const auto& item : v.list_value().values()) list.push_back(value_of(item));
      return list;
    }
    case google::protobuf::Value::kStructValue: {
      Dict dict;
      for (const auto& [key, item] : v.struct_value().fields()) dict[key] = value_of(item);
      return dict;
    }
    default: return {};
  }
}

/// Nothing of a text that is no JSON.
inline std::optional<Value> value_of_json(const std::string& text) {
  google::protobuf::Value v;
  if (!google::protobuf::util::JsonStringToMessage(text, &v).ok()) return std::nullopt;
  return value_of(v);
}

}  // namespace engram
