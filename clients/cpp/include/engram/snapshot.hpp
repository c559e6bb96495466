// What is written to memories and what they answer.
#pragma once

#include <memory>
#include <span>

#include "engram/id.hpp"

namespace engram {

using payload::Value;
using Dict = Value::Dict;
using List = Value::List;

class Types;  // what is known of types; of the library

/// A struct that "engram gen cpp" wrote.
template <class T>
concept Generated = requires(const T& value, std::string_view bytes, const payload::Sender* sender) {
  { T::type_name } -> std::convertible_to<std::string_view>;
  { value.to_payload() } -> std::convertible_to<std::string>;
  { T::from_payload(bytes, sender) } -> std::same_as<T>;
};

/// A message of protobuf.
template <class T>
concept Message = requires(T& value, const T& constant, std::string text) {
  { constant.GetTypeName() } -> std::convertible_to<std::string>;
  { constant.SerializeToString(&text) } -> std::same_as<bool>;
  { value.ParseFromString(text) } -> std::same_as<bool>;
};

/// One instance to be written: a generated struct, a message of protobuf, members by name (Dict),
/// or an encoded payload.
struct Datum {
  template <Generated T>
  Datum(const T& value, float confidence = 1, std::optional<Time> sent = {})
      : type(T::type_name), confidence(confidence), sent(sent) {
    try {
      bytes = value.to_payload();
    } catch (const payload::Error& e) {
      failed = Error(Code::invalid, e.member().empty() ? type : e.member(), e.reason());
    }
  }
  template <Message T>
  Datum(const T& value, float confidence = 1, std::optional<Time> sent = {})
      : type(value.GetTypeName()), confidence(confidence), sent(sent) {
    value.SerializeToString(&bytes);
  }
  /// Of the segment's type, if none is said.
  Datum(Value value, float confidence = 1, std::optional<Time> sent = {}, std::string type = "")
      : type(std::move(type)), members(std::move(value)), confidence(confidence), sent(sent) {}
  Datum(Dict value, float confidence = 1, std::optional<Time> sent = {}, std::string type = "")
      : Datum(Value(std::move(value)), confidence, sent, std::move(type)) {}
  static Datum encoded(std::string type, std::string bytes, float confidence = 1, std::optional<Time> sent = {});

  std::string type;
  std::string bytes;
  std::optional<Value> members;  ///< in the place of bytes
  float confidence;              ///< in [0, 1]
  std::optional<Time> sent;
  std::optional<Error> failed;   ///< why the value is none that can be written

 private:
  Datum(std::string type, std::string bytes, float confidence, std::optional<Time> sent)
      : type(std::move(type)), bytes(std::move(bytes)), confidence(confidence), sent(sent) {}
};

/// What is to be written of an entity.
struct EntityUpdate {
  ID entity;
  std::vector<Datum> instances;
  Time time = now();
};

/// How an update was stored.
struct Committed {
  ID id;  ///< of the snapshot; of the entity if it was refused
  std::uint64_t number = 0;
  std::optional<Error> error;
};

/// One instance of a snapshot. Copies share the payload's bytes.
struct Instance {
  std::string type;
  std::string_view bytes;  ///< the encoded payload
  float confidence = 1;
  std::optional<Time> sent;

  std::shared_ptr<const void> owner;   ///< of the bytes
  std::shared_ptr<Types> types;

  /// The members by name, of whatever type. Members that are zero or empty are left out where
  /// their type has no presence.
  Result<Value> value() const;

  /// The payload as a generated struct or a message of protobuf; a struct reads of another
  /// type what it knows. TypeMismatch names the member that is of another kind.
  template <Generated T>
  Result<T> to() const {
    std::shared_ptr<const payload::Sender> from;
    if (type != T::type_name) {
      auto known = sender();
      if (!known) return known.error();
      from = *known;
    }
    try {
      return T::from_payload(bytes, from.get());
    } catch (const payload::Error& e) {
      return misfit(T::type_name, e);
    }
  }
  template <Message T>
  Result<T> to() const {
    T message;
    if (message.GetTypeName() != type) return Error(Code::type_mismatch, type, "the payload is not of type " + message.GetTypeName());
    if (!message.ParseFromString(std::string(bytes))) return Error(Code::corrupt, type, "the payload cannot be read");
    return message;
  }

 private:
  Result<std::shared_ptr<const payload::Sender>> sender() const;
  Error misfit(std::string_view type, const payload::Error& e) const;
};

/// What was known of an entity at a time.
struct Snapshot {
  ID entity;
  Time time;
  Time arrived;
  std::uint64_t number = 0;
  bool recalled = false;  ///< the working memory has it back from the long-term memory
  bool predicted = false; ///< it was not observed: what was expected when a query asked for it
  std::vector<Instance> instances;

  ID id() const { return ID(entity.text() + "/" + to_string(time)); }
  /// Of the first instance.
  Result<Value> value() const;
  template <class T>
  Result<T> to() const {
    if (instances.empty()) return Error(Code::not_found, id().text(), "the snapshot has no instance");
    return instances[0].to<T>();
  }
};

/// Something that an answer lacks, and why: so many snapshots, or instances, from start to end.
struct Missing {
  ID id;
  std::string reason;
  std::uint64_t count = 0;
  Time start, end;
  std::string example, detail;
};

/// That a copy answered for a memory: what its owner had some time ago.
struct CopyUsed {
  std::string memory, server;
  Time as_of;
  Duration lag{};
  std::uint64_t behind = 0;
  bool away = false;
};

/// The answer of a query: snapshots by entity and in the order of time.
struct Answer {
  std::vector<Snapshot> snapshots;
  std::vector<Missing> missing;
  std::vector<CopyUsed> copies;

  auto begin() const { return snapshots.begin(); }
  auto end() const { return snapshots.end(); }
  std::size_t size() const { return snapshots.size(); }
  bool empty() const { return snapshots.empty(); }
  const Snapshot& operator[](std::size_t i) const { return snapshots[i]; }
};

/// That a snapshot was written.
struct Update {
  ID entity;
  Time time;
  Time arrived;
  std::uint64_t number = 0;
  std::optional<Snapshot> snapshot;  ///< if data was asked for
  bool supersedes = false;           ///< there was a snapshot of this time
  bool restarted = false;            ///< the server began anew, and numbers with it
  std::uint64_t dropped = 0;         ///< updates that were lost just before
  std::optional<Missing> failed;     ///< updates on which the filter failed

  ID id() const { return ID(entity.text() + "/" + to_string(time)); }
};

}  // namespace engram
