#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "engram/skills.hpp"
#include "transport.hpp"

namespace engram {

namespace {

constexpr auto retry_after = std::chrono::milliseconds(100);
constexpr std::size_t most_ended = 1000;

std::int64_t whole(const Value& v) { return v.get<std::int64_t>() ? *v.get<std::int64_t>() : std::int64_t(v.number().value_or(0)); }

bool passes(Code code) { return code == Code::unavailable || code == Code::canceled || code == Code::exhausted; }

}  // namespace

struct Call::State {
  std::shared_ptr<Provider::Impl> provider;
  std::string entity;
  ID execution;
  std::int64_t epoch, attempt;

  std::mutex mutex;
  std::condition_variable changed;
  std::string reason;  // why it is to stop
  Dict last;           // what was said of it last
};

/// Offers skills: beats once in a third of the lease, and has each order done by a thread of its own.
struct Provider::Impl : std::enable_shared_from_this<Provider::Impl> {
  using Key = std::pair<std::string, std::int64_t>;  // execution and attempt
  struct Skill {
    Offer offer;
    Handler handler;
  };

  Impl(Memory m, std::string n, Duration l) : memory(std::move(m)), name(std::move(n)), lease(l) {}

  Memory memory;
  std::string name;
  Duration lease;
  std::map<std::string, Skill> skills;

  std::mutex mutex;
  std::condition_variable changed;
  bool closed = false, again = false;
  std::int64_t epoch = 0;
  std::map<Key, std::shared_ptr<Call::State>> calls;
  std::map<Key, Dict> ended;

  std::optional<Watch> watch;
  std::thread listening, beating;

  Result<void> begin();
  Result<void> patiently(const std::function<Result<void>()>& call, Clock::time_point patience);
  Result<void> enlist();
  bool forgotten();
  Result<void> beat(bool in_service);
  void keep();
  void listen(Watch& updates);
  void order(const std::string& entity, const Value& o);
  void execute(std::shared_ptr<Call::State> state, const Key& key, Call call, const Value& parameters);
  void report(const std::string& entity, Dict report);
  void stop_all(const std::string& reason);
  void end();

  static Dict full(const Call::State& c, Dict report) {
    report["execution"] = Link(c.execution);
    report["provider_epoch"] = c.epoch;
    report["attempt"] = c.attempt;
    return report;
  }
  void say(Call::State& c, const Dict& what) {
    Dict all = what;
    {
      std::lock_guard lock(c.mutex);
      all.insert(c.last.begin(), c.last.end());
    }
    report(c.entity, full(c, std::move(all)));
  }
  static void stop(Call::State& c, const std::string& reason) {
    std::lock_guard lock(c.mutex);
    if (c.reason.empty()) c.reason = reason;
    c.changed.notify_all();
  }
};

// The call, for its handler.

void Call::progress(double done, const std::string& message) {
  {
    std::lock_guard lock(state_->mutex);
    state_->last["progress"] = float(done);
    state_->last["message"] = message;
  }
  state_->provider->say(*state_, {{"kind", "Running"}});
}

void Call::intermediate(Value value) {
  {
    std::lock_guard lock(state_->mutex);
    state_->last["intermediate"] = std::move(value);
  }
  state_->provider->say(*state_, {{"kind", "Running"}});
}

bool Call::stopping() const {
  std::lock_guard lock(state_->mutex);
  return !state_->reason.empty();
}

bool Call::sleep(Duration time) {
  std::unique_lock lock(state_->mutex);
  return !state_->changed.wait_for(lock, time, [&] { return !state_->reason.empty(); });
}

Memory& Call::memory() { return state_->provider->memory; }

Result<Value, SkillFailed> Call::run(const std::string& skill, Value parameters, SkillOptions options) {
  options.caller = state_->provider->name;
  if (!options.parent) options.parent = execution;
  return memory().skills().run(skill, std::move(parameters), options);
}

// The provider.

Provider::Provider(Memory memory, std::string name, Duration lease) : impl_(std::make_shared<Impl>(std::move(memory), std::move(name), lease)) {}
Provider::Provider(Provider&&) noexcept = default;
Provider& Provider::operator=(Provider&& other) noexcept {
  if (impl_) impl_->end();
  impl_ = std::move(other.impl_);
  return *this;
}
Provider::~Provider() {
  if (impl_) impl_->end();
}

void Provider::skill(std::string name, Offer offer, Handler handler) { impl_->skills[std::move(name)] = {std::move(offer), std::move(handler)}; }

Result<void> Provider::start() {
  auto begun = impl_->begin();
  if (begun && !impl_->beating.joinable()) impl_->beating = std::thread([impl = impl_.get()] { impl->keep(); });
  return begun;
}

void Provider::close() {
  std::lock_guard lock(impl_->mutex);
  impl_->closed = true;
  impl_->changed.notify_all();
}

void Provider::Impl::end() {
  {
    std::lock_guard lock(mutex);
    closed = true;
    changed.notify_all();
  }
  if (beating.joinable()) beating.join();
  stop_all("lost_provider");
  {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, lease, [&] { return calls.empty(); });
  }
  if (epoch != 0) (void)beat(false);
  if (watch) watch->close();
  if (listening.joinable()) listening.join();
}

/// Begins an epoch: follows the orders, and tells what is offered.
Result<void> Provider::Impl::begin() {
  static thread_local std::minstd_rand random{std::random_device{}()};
  if (watch) watch->close();
  if (listening.joinable()) listening.join();
  {
    std::lock_guard lock(mutex);
    epoch = std::max(ns(now()) + std::int64_t(random() % 1000), epoch + 1);
  }
  auto watched = patiently([&]() -> Result<void> {
    auto w = memory.watch(ID::of({"Skill", "Call", name}).pattern(), {.backfill = 1, .queue = 1 << 14});
    if (!w) return w.error();
    watch = *std::move(w);
    return {};
  }, Clock::now());
  if (!watched) return watched;
  listening = std::thread([this] { listen(*watch); });
  // Who has this name is given the time to be found dead.
  return patiently([&] { return enlist(); }, Clock::now() + lease * 3 / 2);
}

Result<void> Provider::Impl::patiently(const std::function<Result<void>()>& call, Clock::time_point patience) {
  for (;;) {
    auto done = call();
    if (done || (!passes(done.error().code) && (done.error().code != Code::already_exists || Clock::now() > patience))) return done;
    std::unique_lock lock(mutex);
    if (changed.wait_for(lock, retry_after, [&] { return closed; })) return done;
  }
}

Result<void> Provider::Impl::enlist() {
  if (auto lives = beat(true); !lives) return lives;
  std::vector<EntityUpdate> updates;
  for (const auto& [skill, s] : skills) {
    List resources(s.offer.resources.begin(), s.offer.resources.end());
    auto or_null = [](const std::optional<Duration>& d) { return d ? Value(*d) : Value(); };
    updates.push_back({ID::of({"Skill", "Description", name, skill}),
                       {Dict{{"name", skill}, {"description", s.offer.description}, {"skill_provider", name}, {"parameter_type", s.offer.parameter_type},
                             {"result_type", s.offer.result_type}, {"default_parameters", s.offer.defaults}, {"timeout", or_null(s.offer.timeout)},
                             {"resources", resources}, {"expected_duration", or_null(s.offer.expected_duration)}, {"stop_timeout", or_null(s.offer.stop_timeout)}}},
                       now()});
  }
  auto done = memory.commit_all(std::move(updates));
  if (!done) return done.error();
  for (const auto& d : *done) {
    if (d.error) return *d.error;
  }
  return {};
}

/// Reports whether the memory does not know what is offered, as one that began anew without data.
bool Provider::Impl::forgotten() {
  if (skills.empty()) return false;
  auto known = memory.latest(ID::of({"Skill", "Description", name, skills.begin()->first}));
  return !known && known.error().code == Code::not_found;
}

Result<void> Provider::Impl::beat(bool in_service) {
  auto when = now();
  auto done = memory.commit(ID::of({"Skill", "Provider", name, name}),
                            Dict{{"timestamp", when}, {"epoch", epoch}, {"lease", lease}, {"in_service", in_service}}, {.time = when});
  if (!done) return done.error();
  return {};
}

void Provider::Impl::keep() {
  auto acknowledged = Clock::now();
  for (;;) {
    bool anew;
    {
      std::unique_lock lock(mutex);
      changed.wait_for(lock, lease / 3, [&] { return closed || again; });
      if (closed) return;
      anew = std::exchange(again, false);
    }
    auto sent = Clock::now();
    auto done = anew || forgotten() ? enlist() : beat(true);
    if (done) {
      acknowledged = sent;
    } else if (auto code = done.error().code; code == Code::forbidden || code == Code::already_exists || code == Code::conflict) {
      stop_all("lost_provider");  // fenced: begin anew
      while (!begin()) {
        std::unique_lock lock(mutex);
        if (changed.wait_for(lock, retry_after, [&] { return closed; })) return;
      }
      acknowledged = Clock::now();
    }
    if (Clock::now() - acknowledged >= lease) stop_all("lost_provider");
  }
}

void Provider::Impl::listen(Watch& updates) {
  while (auto u = updates.next()) {
    if (u->restarted || u->dropped) {
      std::lock_guard lock(mutex);
      again = true;
      changed.notify_all();
    }
    if (!u->snapshot) continue;
    if (auto value = u->snapshot->value()) order(u->entity.name(), *value);
  }
}

void Provider::Impl::order(const std::string& entity, const Value& o) {
  Key key{std::string(o["execution"].text()), whole(o["attempt"])};
  bool start = o["action"].text() != "Stop";
  std::shared_ptr<Call::State> call;
  std::optional<Dict> over;
  {
    std::lock_guard lock(mutex);
    if (whole(o["provider_epoch"]) != epoch || closed) return;
    if (auto c = calls.find(key); c != calls.end()) call = c->second;
    if (auto e = ended.find(key); e != ended.end()) over = e->second;
    if (!call && !over && start) {
      auto state = std::make_shared<Call::State>();
      state->provider = shared_from_this();
      state->entity = entity;
      state->execution = ID(key.first);
      state->epoch = epoch;
      state->attempt = key.second;
      Call made(state);
      made.execution = state->execution;
      made.skill = o["skill"].text();
      made.caller = o["caller"].text();
      made.attempt = key.second;
      if (auto* t = o["deadline"].get<Time>()) made.deadline = *t;
      calls[key] = state;
      std::thread([self = shared_from_this(), state, key, made, parameters = o["parameters"]] { self->execute(state, key, made, parameters); }).detach();
      return;
    }
  }
  if (over) return report(entity, *over);  // it may have been lost
  if (call && start) return say(*call, {{"kind", "Accepted"}});
  auto reason = std::string(o["reason"].text());
  if (call) return stop(*call, reason.empty() ? "operator" : reason);
  report(entity, {{"execution", Link(ID(key.first))}, {"provider_epoch", o["provider_epoch"]}, {"attempt", key.second}, {"kind", "Stopped"}});
}

void Provider::Impl::execute(std::shared_ptr<Call::State> state, const Key& key, Call call, const Value& parameters) {
  Result<Value, SkillFailed> result = SkillFailed("unknown_skill", "the provider " + name + " does not have this skill");
  if (auto s = skills.find(call.skill); s != skills.end()) {
    try {
      result = s->second.handler(call, parameters);
    } catch (const SkillFailed& e) {
      result = e;
    } catch (const std::exception& e) {
      result = SkillFailed("exception", e.what(), "no");
    } catch (...) {
      result = SkillFailed("exception", "the handler threw what is no std::exception", "no");
    }
  }
  Dict said;
  {
    std::lock_guard lock(state->mutex);
    if (result) said = {{"kind", "Succeeded"}, {"result", *result}};
    else if (!state->reason.empty()) said = {{"kind", "Stopped"}, {"message", state->reason}};
    else said = {{"kind", "Failed"}, {"failure", Dict{{"code", result.error().code}, {"message", result.error().message}, {"retry", result.error().retry}}}};
    said.insert(state->last.begin(), state->last.end());
  }
  auto last = full(*state, std::move(said));
  {
    std::lock_guard lock(mutex);
    ended[key] = last;
    if (ended.size() > most_ended) ended.erase(ended.begin());
  }
  report(state->entity, last);
  std::lock_guard lock(mutex);
  calls.erase(key);
  changed.notify_all();
}

void Provider::Impl::report(const std::string& entity, Dict what) {
  auto id = ID::of({"Skill", "Report", name, entity});
  bool last_word = what["kind"].text() != "Running" && what["kind"].text() != "Accepted";
  for (int pause : {20, 100, 500, 1000, 2000}) {
    what["timestamp"] = now();
    auto done = memory.commit(id, what);
    if (!done && done.error().code == Code::invalid && what["kind"].text() == "Succeeded") {  // a result that is nothing a payload can hold
      what.erase("result");
      what["kind"] = "Failed";
      what["failure"] = Dict{{"code", "result"}, {"message", done.error().what()}, {"retry", "no"}};
      continue;
    }
    if (done || !passes(done.error().code) || !last_word) return;  // what is not the last word is said again
    std::unique_lock lock(mutex);
    if (changed.wait_for(lock, std::chrono::milliseconds(pause), [&] { return closed; })) return;
  }
}

void Provider::Impl::stop_all(const std::string& reason) {
  std::vector<std::shared_ptr<Call::State>> all;
  {
    std::lock_guard lock(mutex);
    for (const auto& [key, call] : calls) all.push_back(call);
  }
  for (const auto& call : all) stop(*call, reason);
}

}  // namespace engram
