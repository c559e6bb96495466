// Traces, what led to something and what came of it (docs/traces.md), and questions in logic (docs/knowledge.md).
#pragma once

#include "engram/id.hpp"

namespace engram {

enum class Direction { up, down, both };  ///< to what led to it, to what came of it

struct TraceOptions {
  Direction direction = Direction::up;
  int depth = 0;                      ///< links away from the start; 0 is 20
  std::optional<Time> at{};           ///< of an entity: its newest snapshot at or before this time
  std::vector<std::string> within{};  ///< patterns of the entities that the trace may enter; all if empty
};

/// A snapshot or an instance of a trace.
struct TraceNode {
  ID id;
  int depth = 0;
  std::string type;
  Time arrived;
  float confidence = 1;
  payload::Value members;  ///< as JSON has them: numbers are double, bytes are summarised
  std::string missing;     ///< why it is not there; empty if it is
  std::string doubtful{};  ///< why it, or some of the snapshots that it stands for, is not to be believed; empty if it is
};

/// That the payload of one node links to another, in the member at a path.
struct TraceEdge {
  ID from, to;
  std::string path;
};

/// A graph of snapshots and links.
struct Trace {
  std::vector<TraceNode> nodes;
  std::vector<TraceEdge> edges;
  std::vector<std::string> cut;  ///< what there was no room for

  auto begin() const { return nodes.begin(); }
  auto end() const { return nodes.end(); }
};

/// That an instance links to what was asked about.
struct BackLink {
  ID source;
  std::string path;
  ID target;
  Time arrived;  ///< of the source
};

enum class Language { pattern, prolog, owl_class };  ///< of a question

struct AskOptions {
  Language language = Language::pattern;
  std::optional<Time> at{};      ///< what was so at this time; now, if absent
  std::optional<Time> as_of{};   ///< as it was known at this time
  std::int64_t limit = 0;        ///< rows; 0 is all
  std::optional<Duration> timeout{};
};

/// A row of an answer: values by variable, and what a person reads.
struct Row {
  std::map<std::string, payload::Value> values;
  std::map<std::string, std::string> texts;
  double probability = 1;

  /// The value of a variable; null if it has none.
  const payload::Value& operator[](const std::string& variable) const {
    static const payload::Value none;
    auto found = values.find(variable);
    return found == values.end() ? none : found->second;
  }
};

}  // namespace engram
