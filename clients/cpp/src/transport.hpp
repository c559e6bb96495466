// What the client needs of a way to one server. Inside of the library failures are thrown, as Error;
// what the API calls catches them.
#pragma once

#include <chrono>
#include <memory>

#include "engram/memory.hpp"

namespace engram {

using Clock = std::chrono::steady_clock;
using Deadline = std::optional<Clock::time_point>;

inline std::int64_t ns(Time time) { return time.time_since_epoch().count(); }
inline Time time_of(std::int64_t ns) { return Time(Duration(ns)); }

/// An instance to be written, encoded.
struct Encoded {
  std::string type, bytes;
  std::optional<Time> sent;
  float confidence = 1;
};

/// What is to be written of an entity.
struct Commit {
  ID entity;
  Time time;
  std::vector<Encoded> instances;
};

/// Where a subscription begins: the server's epoch, and its newest update if it is known.
struct Begin {
  std::uint64_t epoch = 0;
  std::optional<std::uint64_t> number;
};

/// The updates of one server. close may be called from any thread, and ends who waits.
class Subscription {
 public:
  virtual ~Subscription() = default;
  /// Waits for at least one update; none if there is none at the deadline. Unavailable at the end.
  virtual std::vector<Update> batch(Deadline deadline) = 0;
  virtual void close() = 0;
  Begin begin;
};

/// A commit stream; answers come in the order of what was sent.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void send(const Commit& commit) = 0;
  virtual bool ready() = 0;  ///< an answer is there
  virtual Committed receive(const Commit& commit) = 0;
};

/// One memory server. Requests of what is rare are encoded messages of the API. Safe for concurrent use.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual std::vector<Committed> commit(const std::vector<Commit>& updates, bool recorded) = 0;
  virtual Snapshot latest(const ID& entity, std::optional<Time> at) = 0;
  virtual std::string call(const std::string& procedure, const std::string& request) = 0;
  virtual Answer query(const std::string& request) = 0;
  /// The frequent query, where there is a short form of it.
  virtual std::optional<Answer> select(const ID&, const std::vector<Selector>&, Target, bool /*payload*/) { return {}; }
  virtual std::unique_ptr<Subscription> subscribe(const std::string& request) = 0;
  virtual std::unique_ptr<Stream> stream(bool recorded) = 0;

  std::string address;
  std::shared_ptr<Types> types;  ///< that snapshots are read with
};

/// Makes a result of what a call returns or throws.
template <class F>
auto attempt(F&& call) -> Result<std::invoke_result_t<F>> {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
      call();
      return {};
    } else {
      return call();
    }
  } catch (const Error& e) {
    return e;
  } catch (const std::exception& e) {
    return Error(Code::internal, "client", e.what());
  }
}

/// Reads the ID of an entity; of a snapshot's or an instance's it is the entity. Throws Invalid.
ID entity_of(const ID& id);

}  // namespace engram
