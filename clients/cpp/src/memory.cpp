#include "engram/memory.hpp"

#include <algorithm>
#include <deque>
#include <limits>

#include "engram/hosting.hpp"
#include "engram/poses.hpp"
#include "engram/skills.hpp"
#include "servers.hpp"
#include "watch.hpp"

namespace engram {

namespace {

constexpr auto lowest = std::numeric_limits<std::int64_t>::min(), highest = std::numeric_limits<std::int64_t>::max();

/// Calls a method of one server that may be called twice.
template <class Response>
Response call_retried(Transport& t, const std::string& procedure, const google::protobuf::MessageLite& request) {
  return retried([&] { return call_with<Response>([&](const std::string& r) { return t.call(procedure, r); }, request); });
}

void add_selector(api::QueryRequest& q, const Selector& s) {
  auto* to = q.add_snapshots();
  switch (s.kind) {
    case 1: to->set_all(true); break;
    case 2: to->set_latest(std::uint32_t(s.a)); break;
    case 3: to->set_at(s.a); break;
    case 4: to->set_at_or_before(s.a); break;
    case 5:
      to->mutable_nearest()->set_time(s.a);
      to->mutable_nearest()->set_within_nanos(s.b);
      break;
    case 6:
      to->mutable_range();
      if (s.a != lowest) to->mutable_range()->set_start(s.a);
      if (s.b != highest) to->mutable_range()->set_end(s.b);
      break;
    default:
      to->mutable_indices()->set_first(s.a);
      to->mutable_indices()->set_last(s.b);
  }
}

/// The entity that a pattern names, if it is one.
std::optional<ID> entity_named(std::string_view pattern) {
  if (pattern.find_first_of("*~\\") != std::string_view::npos) return {};
  if (std::count(pattern.begin(), pattern.end(), '/') != 3) return {};
  return ID(pattern);
}

Answer merged(std::vector<Answer> answers) {
  if (answers.size() == 1) return std::move(answers[0]);
  Answer all;
  for (auto& a : answers) {
    std::move(a.snapshots.begin(), a.snapshots.end(), std::back_inserter(all.snapshots));
    std::move(a.missing.begin(), a.missing.end(), std::back_inserter(all.missing));
    std::move(a.copies.begin(), a.copies.end(), std::back_inserter(all.copies));
  }
  auto place = [](const Snapshot& s) { return std::pair<const std::string&, Time>(s.entity.text(), s.time); };
  std::stable_sort(all.snapshots.begin(), all.snapshots.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
  auto same = std::unique(all.snapshots.begin(), all.snapshots.end(), [&](const auto& a, const auto& b) { return place(a) == place(b); });
  all.snapshots.erase(same, all.snapshots.end());
  return all;
}

void forget_segment_types(Servers& servers) {
  std::lock_guard lock(servers.segments_mutex);
  servers.segment_types.clear();
}

}  // namespace

std::string segment_type_of(Servers& servers, const ID& entity) {
  auto names = entity.parts();
  names.resize(std::min<std::size_t>(names.size(), 3));
  auto provider = ID::of(names);
  names.resize(std::min<std::size_t>(names.size(), 2));
  auto core = ID::of(names);
  {
    std::lock_guard lock(servers.segments_mutex);
    if (auto known = servers.segment_types.find(provider.text()); known != servers.segment_types.end()) return known->second;
  }
  api::DescribeRequest request;
  request.set_pattern(core.pattern());
  auto answer = call_retried<api::DescribeResponse>(*servers.of(core.memory()), "Describe", request);
  std::optional<std::string> of_core, of_provider;
  for (const auto& s : answer.segments()) {
    if (s.id() == core.text()) of_core = s.type();
    if (s.id() == provider.text()) of_provider = s.type();
  }
  if (!of_core) throw Error(Code::not_found, core.text(), "there is no such segment; 'engram ls --all' lists them, add_segment makes one");
  auto type = of_provider && !of_provider->empty() ? *of_provider : of_core->empty() ? "engram.idf.v1.Value" : *of_core;
  std::lock_guard lock(servers.segments_mutex);
  return servers.segment_types[provider.text()] = type;
}

Commit commit_of(Servers& servers, EntityUpdate& update) {
  Commit c{entity_of(update.entity), update.time, {}};
  for (auto& d : update.instances) {
    if (d.failed) throw *d.failed;
    Encoded e{std::move(d.type), std::move(d.bytes), d.sent, d.confidence};
    if (e.type.empty()) e.type = segment_type_of(servers, c.entity);
    if (d.members) e.bytes = servers.types->encode(e.type, *d.members);
    c.instances.push_back(std::move(e));
  }
  return c;
}

void fill(api::Segment& message, const SegmentOptions& options) {
  message.set_type(options.type);
  message.mutable_history()->set_max_count(options.max_count);
  message.mutable_history()->set_max_age_nanos(options.max_age.count());
  message.mutable_history()->set_max_bytes(options.max_bytes);
  message.set_durability(api::Durability(options.durability));
}

Selector all() { return {1, 0, 0}; }
Selector latest(std::uint32_t n) { return {2, n, 0}; }
Selector exactly(Time time) { return {3, ns(time), 0}; }
Selector at(Time time) { return {4, ns(time), 0}; }
Selector nearest(Time time, Duration within) { return {5, ns(time), within.count()}; }
Selector range(std::optional<Time> start, std::optional<Time> end) { return {6, start ? ns(*start) : lowest, end ? ns(*end) : highest}; }
Selector range(Duration last) { return range(now() - last); }
Selector index(std::int64_t first, std::int64_t last) { return {7, first, last}; }

Result<Memory> connect(const ConnectOptions& options) {
  return attempt([&] { return Memory(Servers::connect(options)); });
}

std::string Memory::address() const { return servers_->address(); }
std::string Memory::robot() const { return servers_->robot(); }
Result<std::vector<std::string>> Memory::memories() {
  return attempt([&] { return servers_->memories(); });
}

Result<ID> Memory::commit(const ID& entity, Datum value, const CommitOptions& options) {
  return attempt([&]() -> ID {
    value.confidence = options.confidence == 1 ? value.confidence : options.confidence;
    if (options.sent) value.sent = options.sent;
    EntityUpdate update{entity, {}, options.time.value_or(now())};
    update.instances.push_back(std::move(value));
    auto c = commit_of(*servers_, update);
    auto done = servers_->of(c.entity.memory())->commit({std::move(c)}, options.recorded);
    if (done.at(0).error) {
      forget_segment_types(*servers_);  // the segment may be another one by now
      throw *done[0].error;
    }
    return std::move(done[0].id);
  });
}

Result<std::vector<Committed>> Memory::commit_all(std::vector<EntityUpdate> updates, bool recorded) {
  return attempt([&] {
    std::vector<Committed> done(updates.size());
    std::map<std::shared_ptr<Transport>, std::pair<std::vector<Commit>, std::vector<std::size_t>>> by;
    for (std::size_t i = 0; i < updates.size(); ++i) {
      auto c = commit_of(*servers_, updates[i]);
      auto& [commits, places] = by[servers_->of(c.entity.memory())];
      commits.push_back(std::move(c));
      places.push_back(i);
    }
    for (auto& [transport, part] : by) {
      auto results = transport->commit(part.first, recorded);
      for (std::size_t i = 0; i < part.second.size(); ++i) done[part.second[i]] = std::move(results.at(i));
    }
    return done;
  });
}

Result<Snapshot> Memory::latest(const ID& entity, std::optional<Time> at) {
  return attempt([&] {
    auto id = entity_of(entity);
    auto transport = servers_->of(id.memory());
    return retried([&] { return transport->latest(id, at); });
  });
}

Result<Snapshot> Memory::get(const ID& id) {
  if (id.level() < 5) return latest(id);
  auto time = id.time();
  if (!time) return Error(Code::invalid, id.text(), "the ID of a snapshot has a time, memory/core/provider/entity/time");
  auto found = query(id.entity().pattern(), {.select = {exactly(*time)}});
  if (!found) return found.error();
  if (found->empty()) return Error(Code::not_found, id.text(), "there is no snapshot of this time");
  return (*found)[0];
}

Result<Answer> Memory::query(std::string_view pattern, const QueryOptions& options) {
  return attempt([&] {
    auto select = options.select.empty() ? std::vector{Selector{}} : options.select;
    for (const auto& s : select) {
      if (s.kind == 2 && (s.a < 1 || s.a > 0xffffffff)) throw Error(Code::invalid, "latest", "at least 1 snapshot can be asked for");
    }
    bool simple = options.where.empty() && options.type.empty() && options.fields.empty() && !options.as_of && options.source == Source::any && options.every == Duration{} && !options.predict && !options.without_doubtful;
    std::vector<Answer> answers;
    if (auto entity = entity_named(pattern); simple && entity) {
      auto transport = servers_->of(entity->memory());
      if (auto found = retried([&] { return transport->select(*entity, select, options.target, options.payload); })) return *std::move(found);
    }
    api::QueryRequest q;
    q.set_pattern(std::string(pattern));
    for (const auto& s : select) add_selector(q, s);
    q.set_where(options.where);
    q.set_type(options.type);
    q.mutable_fields()->Add(options.fields.begin(), options.fields.end());
    q.set_target(api::Target(options.target));
    if (options.as_of) q.set_as_of(ns(*options.as_of));
    q.set_filter_order(options.filter_first ? api::FILTER_ORDER_FILTER_THEN_SELECT : api::FILTER_ORDER_SELECT_THEN_FILTER);
    q.set_without_payload(!options.payload);
    q.set_source(api::Source(options.source));
    q.set_every_nanos(options.every.count());
    q.set_predict(options.predict);
    q.set_without_doubtful(options.without_doubtful);
    auto request = q.SerializeAsString();
    for (const auto& t : servers_->matching(pattern)) answers.push_back(retried([&] { return t->query(request); }));
    return merged(std::move(answers));
  });
}

Result<Watch> Memory::watch(std::vector<std::string> patterns, const WatchOptions& options) {
  return attempt([&] {
    api::SubscribeRequest request;
    request.set_with_data(options.data);
    request.set_where(options.where);
    request.mutable_fields()->Add(options.fields.begin(), options.fields.end());
    request.set_slow(options.newest_only ? api::SLOW_LATEST : api::SLOW_DROP_OLDEST);
    request.set_queue(options.queue);
    if (auto* n = std::get_if<int>(&options.backfill)) {
      if (*n < 0) throw Error(Code::invalid, "backfill", "a number of snapshots, a time or a duration");
      if (*n > 0) request.set_last(std::uint32_t(*n));
    }
    if (auto* t = std::get_if<Time>(&options.backfill)) request.set_since(ns(*t));
    if (auto* d = std::get_if<Duration>(&options.backfill)) request.set_since(ns(now() - std::chrono::abs(*d)));
    std::vector<std::pair<std::shared_ptr<Transport>, api::SubscribeRequest>> of;
    for (const auto& pattern : patterns) {
      for (const auto& t : servers_->matching(pattern)) {
        auto known = std::find_if(of.begin(), of.end(), [&](const auto& o) { return o.first == t; });
        if (known == of.end()) known = of.insert(of.end(), {t, request});
        known->second.add_patterns(pattern);
      }
    }
    if (of.empty()) throw Error(Code::invalid, "watch", "give a pattern; * is all");
    return watch_servers(servers_, of, options.give_up);
  });
}

namespace {

/// Fills what predictions and hypotheses have in common.
template <class To, class From>
void fill_predicted(To& to, const From& from) {
  for (const auto& m : from.members()) to.members[m.path()] = {m.mean(), m.sd(), m.low(), m.high(), m.model(), m.skill()};
  for (const auto& id : from.from()) to.sources.push_back(id);
  for (const auto& pose : from.poses()) {
    auto& covariance = to.covariances[pose.path()];
    if (pose.covariance_size() != int(covariance.size())) throw Error(Code::corrupt, pose.path(), "the server's answer has a covariance without 36 numbers");
    std::copy(pose.covariance().begin(), pose.covariance().end(), covariance.begin());
  }
}

}  // namespace

Result<Predicted> Memory::predict(const ID& entity, Time at) {
  return attempt([&] {
    auto id = entity_of(entity);
    api::PredictRequest request;
    request.add_ids(id.text() + "/" + to_string(at));
    auto answer = std::make_shared<api::PredictResponse>(call_retried<api::PredictResponse>(*servers_->of(id.memory()), "Predict", request));
    if (answer->predictions_size() != 1) throw Error(Code::corrupt, id.text(), "the server's answer has no prediction");
    const auto& p = answer->predictions(0);
    Predicted made;
    made.id = p.id();
    made.horizon = Duration(p.horizon_nanos());
    fill_predicted(made, p);
    if (p.has_error()) made.error = error_of(p.error());
    if (p.has_snapshot()) made.snapshot = snapshot_of(id, p.snapshot(), answer, servers_->types);
    for (const auto& h : p.hypotheses()) {
      Hypothesis one;
      one.probability = h.probability();
      if (h.has_snapshot()) one.snapshot = snapshot_of(id, h.snapshot(), answer, servers_->types);
      fill_predicted(one, h);
      made.hypotheses.push_back(std::move(one));
    }
    return made;
  });
}

Result<std::vector<Segment>> Memory::segments(std::string_view pattern) {
  return attempt([&] {
    api::DescribeRequest request;
    request.set_pattern(std::string(pattern));
    std::vector<Segment> found;
    for (const auto& t : servers_->matching(pattern)) {
      auto answer = call_retried<api::DescribeResponse>(*t, "Describe", request);
      for (const auto& s : answer.segments()) {
        found.push_back({s.id(), s.type(), s.history().max_count(), Duration(s.history().max_age_nanos()), s.history().max_bytes()});
      }
    }
    return found;
  });
}

Result<void> Memory::add_segment(const ID& id, const SegmentOptions& options) {
  return attempt([&] {
    api::AddSegmentRequest request;
    auto* s = request.mutable_segment();
    s->set_id(id.text());
    fill(*s, options);
    servers_->of(id.memory())->call("AddSegment", request.SerializeAsString());
    forget_segment_types(*servers_);
  });
}

Result<void> Memory::remove_segment(const ID& id) {
  return attempt([&] {
    api::RemoveSegmentRequest request;
    request.set_id(id.text());
    servers_->of(id.memory())->call("RemoveSegment", request.SerializeAsString());
    forget_segment_types(*servers_);
  });
}

Result<std::string> Memory::segment_type(const ID& id) {
  return attempt([&] { return segment_type_of(*servers_, id); });
}

Result<std::vector<std::string>> Memory::types() {
  return attempt([&] {
    std::vector<std::string> names;
    for (const auto& t : servers_->all()) {
      auto answer = call_retried<api::ListTypesResponse>(*t, "ListTypes", api::ListTypesRequest());
      names.insert(names.end(), answer.names().begin(), answer.names().end());
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  });
}

Result<std::shared_ptr<const payload::Sender>> Memory::type(const std::string& name) {
  return attempt([&] { return servers_->types->get(name); });
}

Result<void> Memory::add_type(const std::string& name, std::string_view descriptors) {
  return attempt([&] {
    api::AddTypeRequest request;
    request.mutable_type()->set_name(name);
    request.mutable_type()->set_descriptors(std::string(descriptors));
    for (const auto& t : servers_->all()) t->call("AddType", request.SerializeAsString());
  });
}

Poses Memory::poses() { return Poses(*this, servers_); }
Skills Memory::skills() { return Skills(*this); }
Provider Memory::provider(std::string name, Duration lease) { return Provider(*this, std::move(name), lease); }
HostedMemory Memory::host(std::string name, const HostOptions& options) { return HostedMemory(servers_, std::move(name), options); }
HostedMemory Memory::host(std::string name) { return host(std::move(name), {}); }

// Streams

struct CommitStream::Impl {
  struct Open {
    std::unique_ptr<Stream> stream;
    std::deque<Commit> waiting;
  };

  std::shared_ptr<Servers> servers;
  std::size_t window;
  bool recorded;
  std::map<std::shared_ptr<Transport>, Open> streams;
  std::uint64_t committed = 0;
  std::vector<Committed> failed;

  void receive(Open& o) {
    auto done = o.stream->receive(o.waiting.front());
    o.waiting.pop_front();
    if (done.error) failed.push_back(std::move(done));
    else ++committed;
  }
};

CommitStream::CommitStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CommitStream::CommitStream(CommitStream&&) noexcept = default;
CommitStream& CommitStream::operator=(CommitStream&&) noexcept = default;
CommitStream::~CommitStream() = default;
std::uint64_t CommitStream::committed() const { return impl_->committed; }
const std::vector<Committed>& CommitStream::failed() const { return impl_->failed; }

CommitStream Memory::stream(std::size_t window, bool recorded) {
  return CommitStream(std::make_unique<CommitStream::Impl>(CommitStream::Impl{servers_, std::max<std::size_t>(window, 1), recorded, {}, 0, {}}));
}

Result<void> CommitStream::commit(const ID& entity, Datum value, std::optional<Time> time) {
  EntityUpdate update{entity, {}, time.value_or(now())};
  update.instances.push_back(std::move(value));
  return commit(std::move(update));
}

Result<void> CommitStream::commit(EntityUpdate update) {
  return attempt([&] {
    auto c = commit_of(*impl_->servers, update);
    auto transport = impl_->servers->of(c.entity.memory());
    auto& open = impl_->streams[transport];
    if (!open.stream) open.stream = transport->stream(impl_->recorded);
    while (!open.waiting.empty() && (open.waiting.size() >= impl_->window || open.stream->ready())) impl_->receive(open);
    open.stream->send(c);
    for (auto& i : c.instances) i.bytes.clear();  // the answer needs the entity and time only
    open.waiting.push_back(std::move(c));
  });
}

Result<void> CommitStream::flush() {
  return attempt([&] {
    for (auto& [transport, open] : impl_->streams) {
      while (!open.waiting.empty()) impl_->receive(open);
    }
    if (impl_->failed.empty()) return;
    auto failed = std::exchange(impl_->failed, {});
    throw *failed[0].error;
  });
}

}  // namespace engram
