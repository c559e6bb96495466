// A memory of this program's own: its types, its segments, and functions that are called on what
// happens in it; docs/formats/host.md has the protocol.
#pragma once

#include <concepts>
#include <functional>

#include "engram/memory.hpp"

namespace google::protobuf {
class Descriptor;
}

namespace engram {

/// A member of a type that a program makes.
struct Member {
  std::string name;
  int kind = 0;          ///< as a field of protobuf has it
  std::string message;   ///< the type's full name, of a message
  bool list = false, optional = false;
};

namespace detail {

template <class T>
struct Kind;
template <int number>
struct Plain {
  static void put(Member& m) { m.kind = number; }
};
template <> struct Kind<double> : Plain<1> {};
template <> struct Kind<float> : Plain<2> {};
template <> struct Kind<std::int64_t> : Plain<3> {};
template <> struct Kind<std::uint64_t> : Plain<4> {};
template <> struct Kind<std::int32_t> : Plain<5> {};
template <> struct Kind<bool> : Plain<8> {};
template <> struct Kind<std::string> : Plain<9> {};
template <> struct Kind<payload::Bytes> : Plain<12> {};
template <> struct Kind<std::uint32_t> : Plain<13> {};

inline void put_message(Member& m, std::string_view name) { m.kind = 11, m.message = name; }
template <> struct Kind<Time> { static void put(Member& m) { put_message(m, "google.protobuf.Timestamp"); } };
template <> struct Kind<Duration> { static void put(Member& m) { put_message(m, "google.protobuf.Duration"); } };
template <> struct Kind<ID> { static void put(Member& m) { put_message(m, "engram.idf.v1.Link"); } };
template <> struct Kind<Value> { static void put(Member& m) { put_message(m, "engram.idf.v1.Value"); } };
template <Generated T> struct Kind<T> { static void put(Member& m) { put_message(m, T::type_name); } };
template <class T> struct Kind<std::optional<T>> {
  static void put(Member& m) { m.optional = true, Kind<T>::put(m); }
};
template <class T>
  requires(!std::same_as<T, std::uint8_t>)
struct Kind<std::vector<T>> {
  static void put(Member& m) { m.list = true, Kind<T>::put(m); }
};

}  // namespace detail

/// A member of a C++ type: a number, bool, text, payload::Bytes, Time, Duration, ID, Value (any data), a struct of
/// "engram gen cpp" or of payload:: whose type the server knows, a vector or an optional of these.
template <class T>
Member member(std::string name) {
  Member m;
  m.name = std::move(name);
  detail::Kind<T>::put(m);
  return m;
}

/// What is asked of a memory.
class Asked {
 public:
  /// Whether it can be about something at or below an ID without the memory's name, such as "State/sensor".
  bool concerns(const ID& below) const;

  std::string memory;

  struct Request;
  std::shared_ptr<const Request> request;  ///< of the library
};

/// What is predicted of an entity at a time: one instance, or several.
struct Prediction {
  template <std::convertible_to<Datum> T>
  Prediction(T&& value) {
    instances.emplace_back(std::forward<T>(value));
  }
  Prediction(std::vector<Datum> values) : instances(std::move(values)) {}

  std::vector<Datum> instances;
};

/// Sees an update before it is stored. Nothing stores it as it came, an update in its place; an error refuses it.
using CommitHook = std::function<Result<std::optional<EntityUpdate>>(const Snapshot& update)>;
/// Sees what is asked before it is answered, and commits what shall be in the answer; an error refuses it.
using QueryHook = std::function<Result<void>(const Asked& asked)>;
/// Predicts an entity at a time.
using PredictHook = std::function<Result<Prediction>(const ID& entity, Time time)>;

struct HostOptions {
  Duration timeout = std::chrono::seconds(2);  ///< how long a hook may take, at most 60 s
  std::uint32_t calls = 16;                    ///< how many calls of each hook run at once, at most 256
  std::string program{};                       ///< what errors call the program; its name if empty
};

/// A memory that this program hosts, from start to its end. The server that was connected to does the rest. It goes on
/// where the server was away. Hooks are called from several threads at once, with the rights of the program. What a
/// hook throws refuses as well: an Error as it is, anything else as Internal, but a query is answered then with
/// what is there.
class HostedMemory {
 public:
  HostedMemory(std::shared_ptr<Servers> servers, std::string name, HostOptions options);
  HostedMemory(HostedMemory&&) noexcept;
  HostedMemory& operator=(HostedMemory&&) noexcept;
  ~HostedMemory();  ///< closes, and waits for the hooks that run

  // Before start. The ID is "State" of a core segment, "State/sensor" of a provider segment.

  /// Adds a segment, of a type that the server knows or of any data.
  void add_segment(const std::string& id, const SegmentOptions& options = {});
  /// Adds a segment whose type has these members: Battery.State of "State" in the memory Battery.
  void add_segment(const std::string& id, std::vector<Member> members, const SegmentOptions& options = {});
  /// Adds a segment of a message of protobuf: *lab::Cup::descriptor().
  void add_segment(const std::string& id, const google::protobuf::Descriptor& type, const SegmentOptions& options = {});
  void on_commit(CommitHook hook);
  void on_query(QueryHook hook);
  void on_predict(PredictHook hook);

  /// Begins to host. AlreadyExists if the server or another program has the memory.
  Result<void> start();
  /// Waits for the end: nothing once it was closed, or why it cannot go on. Canceled if it goes on after the timeout.
  Result<void> wait(std::optional<Duration> timeout = {});
  /// Ends the hosting, from any thread. The memory stays readable at the server.
  void close();

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace engram
