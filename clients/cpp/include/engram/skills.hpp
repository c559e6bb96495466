// What the robot can do: ask for skills, follow what becomes of that, and offer some; docs/skills.md.
#pragma once

#include <atomic>
#include <functional>

#include "engram/memory.hpp"

namespace engram {

/// Why a skill came to no good end: a code for programs, and retry: yes, later, no, or empty.
struct SkillFailed : std::exception {
  SkillFailed(std::string code, std::string message, std::string retry = "")
      : code(std::move(code)), message(std::move(message)), retry(std::move(retry)) {}
  SkillFailed(const Error& e);
  const char* what() const noexcept override { return message.c_str(); }

  std::string code, message, retry;
};

struct SkillOptions {
  std::string caller = "cpp";
  std::optional<ID> cause{}, parent{};
  std::optional<Duration> timeout{};
  std::optional<int> priority{};
  bool dry_run = false;
};

/// An execution of a skill.
class Execution {
 public:
  /// Takes the ID of the request or of the execution.
  Execution(Memory memory, const ID& id);

  ID id, request;

  /// What is known of it now, with the members of engram.skill.Execution.
  Result<Value> state();
  /// Calls with the present state and each later one, up to the end, which is returned.
  Result<Value> watch(const std::function<void(const Value& state)>& each, std::optional<Duration> timeout = {});
  /// Waits for the end, and returns the result. Code "canceled" if it does not come in time.
  Result<Value, SkillFailed> result(std::optional<Duration> timeout = {});
  /// Aborts it, and returns what comes of that: Confirmed (all stands still), Unconfirmed (it may still move), or Refused.
  Result<std::string> abort(const std::string& message = "", Duration timeout = std::chrono::seconds(30), const std::string& by = "cpp");

 private:
  Memory memory_;
};

class Skills {
 public:
  explicit Skills(Memory memory) : memory_(std::move(memory)) {}

  /// The descriptions of all skills that are known, engram.skill.Description.
  Result<Answer> list();
  /// Asks for an execution: "Grasp", or "Arm/Grasp" of one provider. NotFound if there is no such skill,
  /// Invalid or TypeMismatch if the parameters do not fit.
  Result<Execution> start(const std::string& skill, Value parameters = {}, const SkillOptions& options = {});
  /// Asks for an execution, and waits for its result.
  Result<Value, SkillFailed> run(const std::string& skill, Value parameters = {}, const SkillOptions& options = {});
  /// An execution that somebody asked for.
  Execution follow(const ID& id) { return Execution(memory_, id); }

 private:
  Memory memory_;
};

/// One execution, in its handler. Its methods may be called from any thread.
class Call {
 public:
  ID execution;
  std::string skill, caller;
  std::int64_t attempt = 0;
  std::optional<Time> deadline;

  /// Says how much is done, from 0 to 1, and what is done now.
  void progress(double done, const std::string& message = "");
  /// Says what was found so far.
  void intermediate(Value value);
  /// The execution is to stop: a handler returns once all stands still.
  bool stopping() const;
  /// Waits; false as soon as the execution is to stop.
  bool sleep(Duration time);
  /// Runs another skill as a part of this one.
  Result<Value, SkillFailed> run(const std::string& skill, Value parameters = {}, SkillOptions options = {});
  Memory& memory();

  struct State;
  explicit Call(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

/// Does a skill, in a thread of its own. When it returns, all that it moved stands still.
using Handler = std::function<Result<Value, SkillFailed>(Call& call, const Value& parameters)>;

/// What is said of a skill that is offered.
struct Offer {
  std::string description{};
  std::vector<std::string> resources{};
  std::optional<Duration> timeout{}, expected_duration{}, stop_timeout{};
  std::string parameter_type{};  ///< any members, if empty
  std::string result_type{};
  Value defaults{};              ///< of parameters, by name
};

/// Offers skills, from start to its end. It goes on where the server was away; after a lease without an answer it
/// stops what runs.
class Provider {
 public:
  Provider(Memory memory, std::string name, Duration lease);
  Provider(Provider&&) noexcept;
  Provider& operator=(Provider&&) noexcept;
  ~Provider();  ///< stops what runs, and waits for it

  /// Adds a skill; before start.
  void skill(std::string name, Offer offer, Handler handler);
  /// Begins to offer. AlreadyExists if another provider of this name lives.
  Result<void> start();
  /// Ends; from any thread.
  void close();

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace engram
