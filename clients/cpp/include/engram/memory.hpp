// The client: all memories that servers have, by name.
#pragma once

#include <array>
#include <initializer_list>
#include <map>

#include "engram/questions.hpp"
#include "engram/snapshot.hpp"

namespace engram {

class Servers;     // of the library
class Poses;       // poses.hpp
class Skills;      // skills.hpp
class Provider;    // skills.hpp
class HostedMemory;  // hosting.hpp
struct HostOptions;

/// Which snapshots of an entity are meant. Several are a union.
struct Selector {
  int kind = 2;
  std::int64_t a = 1, b = 0;
};

Selector all();
Selector latest(std::uint32_t n = 1);               ///< the newest n
Selector at(Time time);                             ///< the one in force then
Selector exactly(Time time);                        ///< the one of that time
Selector nearest(Time time, Duration within);       ///< the closest
Selector range(std::optional<Time> start, std::optional<Time> end = {});  ///< from a start up to, but not at, an end
Selector range(Duration last);                      ///< the last 10s, up to now
Selector index(std::int64_t first, std::int64_t last);  ///< by place, negative from the end
inline Selector index(std::int64_t place) { return index(place, place); }

enum class Target { both, wm, ltm };               ///< which memory answers
enum class Source { any, owner, copy, near };      ///< who may answer for a memory of which copies are held
enum class Durability { volatile_, logged, synced };

struct QueryOptions {
  std::vector<Selector> select{};     ///< the latest, if there is none
  std::string where{};                ///< a CEL expression over an instance, such as "confidence > 0.8"
  std::string type{};                 ///< only payloads of this type, or of one that extends it
  std::vector<std::string> fields{};  ///< only these members
  Target target = Target::both;
  std::optional<Time> as_of{};        ///< what was known at a time of arrival
  bool filter_first = false;        ///< select among what satisfies where and type
  bool payload = true;              ///< false: without payloads
  Source source = Source::any;
  Duration every{};                 ///< aggregates per bucket of this length in the place of snapshots
  bool predict = false;             ///< what is predicted for a time after an entity's newest snapshot
  bool without_doubtful = false;    ///< select among what was not withdrawn, and rests on nothing that was
};

struct CommitOptions {
  std::optional<Time> time{};  ///< now, if absent
  float confidence = 1;      ///< in [0, 1]
  std::optional<Time> sent{};
  bool recorded = false;     ///< the time is of a recording, and may lie ahead of the clock
};

struct WatchOptions {
  /// What comes first: the last n of each entity, those since a time, or as far back as a duration.
  std::variant<std::monostate, int, Time, Duration> backfill{};
  bool data = true;
  std::string where{};
  std::vector<std::string> fields{};
  bool newest_only = false;          ///< a slow reader gets the newest of each entity only
  std::uint32_t queue = 0;           ///< how many updates may wait at the server; 0 is its default
  std::optional<Duration> give_up{};   ///< reconnect for so long; without end if absent
};

struct SegmentOptions {
  std::string type{};  ///< of payloads; any data if empty
  std::int64_t max_count = 0;
  Duration max_age{};
  std::int64_t max_bytes = 0;
  Durability durability = Durability::volatile_;
};

/// A core or provider segment.
struct Segment {
  ID id;
  std::string type;
  std::int64_t max_count = 0;
  Duration max_age{};
  std::int64_t max_bytes = 0;
};

/// A number of a predicted payload.
struct PredictedMember {
  double mean = 0;
  double sd = 0;           ///< standard deviation; of what is held, such as an enumeration, the probability of another value
  double low = 0, high = 0;  ///< ends of the band that holds the truth in 9 of 10 cases
  std::string model;       ///< that counted most
  double skill = 0;        ///< 1 minus the ratio of the errors lately to those of holding the last value; NaN is not known
};

/// Numbers by their paths, such as position[3].
using PredictedMembers = std::map<std::string, PredictedMember>;

/// Of each member that is a pose, by its path: row by row as ROS has it, x, y, z (m) and the rotation about the fixed axes
/// x, y, z (rad), in the frame in which the pose is told.
using PredictedCovariances = std::map<std::string, std::array<double, 36>>;

/// One of several things that may be.
struct Hypothesis {
  double probability = 0;  ///< those of all add up to at most 1
  std::optional<Snapshot> snapshot;
  PredictedMembers members;
  PredictedCovariances covariances;  ///< of this hypothesis alone
  std::vector<ID> sources;           ///< past situations like the newest one that it followed, the nearest first
};

/// The prediction for a snapshot's ID: the snapshot, or why there is none.
struct Predicted {
  ID id;
  std::optional<Snapshot> snapshot;
  std::optional<Error> error;  ///< why nothing is said
  Duration horizon{};          ///< after the newest snapshot; 0 for what is known
  PredictedMembers members;
  PredictedCovariances covariances;
  std::vector<ID> sources;             ///< the snapshots that it rests on
  std::vector<Hypothesis> hypotheses;  ///< what may be, the most probable first; none says that this is the only one
};

/// Updates as they come. It goes on after the connection broke or the server was restarted.
/// One thread at a time reads it; close may be called from any thread, and ends who waits. Its end closes it.
class Watch {
 public:
  Watch(Watch&&) noexcept;
  Watch& operator=(Watch&&) noexcept;
  ~Watch();

  /// Waits for the next update. Canceled when the watch was closed, or nothing came in time.
  Result<Update> next(std::optional<Duration> timeout = {});
  void close();

  struct Impl;
  explicit Watch(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

/// Commits that do not wait for each answer. Those to one server are stored in their order. One
/// thread at a time uses it.
class CommitStream {
 public:
  CommitStream(CommitStream&&) noexcept;
  CommitStream& operator=(CommitStream&&) noexcept;
  ~CommitStream();  ///< what is under way may be lost without flush

  /// Sends a commit; waits only where the window is full. A refusal is told by flush.
  Result<void> commit(const ID& entity, Datum value, std::optional<Time> time = {});
  Result<void> commit(EntityUpdate update);
  /// Waits for all answers, and returns the first refusal since the last flush.
  Result<void> flush();
  std::uint64_t committed() const;
  /// What was refused since the last flush.
  const std::vector<Committed>& failed() const;

  struct Impl;
  explicit CommitStream(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

/// All memories that can be reached. Copies are the same client; safe for concurrent use.
/// Patterns have "*" for any name, or "~" and a regular expression.
class Memory {
 public:
  // Writing

  /// Writes a snapshot, and returns its ID.
  Result<ID> commit(const ID& entity, Datum value, const CommitOptions& options = {});
  /// Writes updates in one request for each server. A refused one has its error in the result, at its
  /// place, and does not keep the others from being stored.
  Result<std::vector<Committed>> commit_all(std::vector<EntityUpdate> updates, bool recorded = false);
  /// Begins a stream of commits, of which window are under way at once.
  CommitStream stream(std::size_t window = 64, bool recorded = false);

  // Reading

  /// An entity's newest snapshot, or the newest not after a time. NotFound if there is none.
  Result<Snapshot> latest(const ID& entity, std::optional<Time> at = {});
  /// The snapshot of an ID, such as a link has: of an entity's the newest.
  Result<Snapshot> get(const ID& id);
  Result<Answer> query(std::string_view pattern, const QueryOptions& options = {});
  /// Begins to watch what is written.
  Result<Watch> watch(std::vector<std::string> patterns, const WatchOptions& options = {});
  Result<Watch> watch(std::string pattern, const WatchOptions& options = {}) { return watch(std::vector{std::move(pattern)}, options); }
  /// Predicts an entity at a time.
  Result<Predicted> predict(const ID& entity, Time at);
  /// What led to an entity, a snapshot or an instance, or what came of it, in the memories of its server.
  Result<Trace> trace(const ID& start, const TraceOptions& options = {});
  /// What links to an entity, a snapshot or an instance; of sources that match a pattern, if there is one.
  Result<std::vector<BackLink>> back_links(const ID& target, const std::string& from = "", std::int64_t limit = 0);
  /// The rows that answer a question in logic.
  Result<std::vector<Row>> ask(const std::string& question, const AskOptions& options = {});

  // Types and segments

  Result<std::vector<std::string>> memories();
  Result<std::vector<Segment>> segments(std::string_view pattern = "*");
  Result<void> add_segment(const ID& id, const SegmentOptions& options = {});
  Result<void> remove_segment(const ID& id);
  /// The type of the payloads of an entity's segment; engram.idf.v1.Value if it takes any.
  Result<std::string> segment_type(const ID& id);
  Result<std::vector<std::string>> types();
  /// What a type is made of, to read payloads of it.
  Result<std::shared_ptr<const payload::Sender>> type(const std::string& name);
  /// Has all servers know a type, by an encoded FileDescriptorSet with all that it imports.
  Result<void> add_type(const std::string& name, std::string_view descriptors);

  // Parts

  Poses poses();
  Skills skills();
  /// Offers skills; nobody else may have the name.
  Provider provider(std::string name, Duration lease = std::chrono::seconds(3));
  /// Makes a memory that this program hosts.
  HostedMemory host(std::string name, const HostOptions& options);
  HostedMemory host(std::string name);

  std::string address() const;  ///< where the memory was found
  std::string robot() const;    ///< the robot's name, if it has one

  explicit Memory(std::shared_ptr<Servers> servers) : servers_(std::move(servers)) {}

 private:
  std::shared_ptr<Servers> servers_;
};

struct ConnectOptions {
  /// Where the name system is: unix:/path, host:port, http://host:port, https://host:port, or
  /// local:/path for one server alone. If it is empty, $ENGRAM_ADDRESS, else this user's on this computer.
  std::string address{};
  /// A file of "engram auth add"; if it is empty, $ENGRAM_CREDENTIALS.
  std::string credentials{};
  /// How long to wait for a server to answer a connection.
  Duration timeout = std::chrono::seconds(5);
};

/// Connects to the memories of the robot. On the same computer the local socket is taken where
/// there is one. Unavailable says where was looked.
Result<Memory> connect(const ConnectOptions& options = {});

}  // namespace engram
