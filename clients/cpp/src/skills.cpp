#include "engram/skills.hpp"

#include <algorithm>
#include <random>

#include "transport.hpp"

namespace engram {

namespace {

bool ended(std::string_view status) { return status == "Succeeded" || status == "Failed" || status == "Aborted"; }

std::string random_hex() {
  static thread_local std::minstd_rand random{std::random_device{}()};
  char text[16];
  std::snprintf(text, sizeof text, "%06x", unsigned(random() & 0xffffff));
  return text;
}

template <class T>
Value or_null(const std::optional<T>& v) {
  return v ? Value(*v) : Value();
}

Value link_or_null(const std::optional<ID>& id) { return id ? Value(Link(*id)) : Value(); }

std::string text_of(const Value& v) { return std::string(v.text()); }

Result<Value, SkillFailed> outcome(const Value& end) {
  auto status = end["status"].text();
  if (status == "Succeeded") return end["result"];
  const auto &failure = end["failure"], &stop = end["stop"];
  if (status == "Failed" && failure.get<Dict>()) return SkillFailed(text_of(failure["code"]), text_of(failure["message"]), text_of(failure["retry"]));
  if (status == "Aborted") {
    auto why = stop.get<Dict>() ? "aborted (" + text_of(stop["reason"]) + "): " + text_of(stop["message"]) : text_of(end["message"]);
    if (stop["answer"].text() == "Unconfirmed") why += "; its standstill is not confirmed";
    return SkillFailed("aborted", why);
  }
  return SkillFailed("provider", text_of(end["message"]));
}

}  // namespace

SkillFailed::SkillFailed(const Error& e) : code(to_string(e.code)), message(e.what()), retry(e.code == Code::unavailable ? "later" : "") {
  std::replace(code.begin(), code.end(), ' ', '_');
}

Result<Answer> Skills::list() { return memory_.query("Skill/Description"); }

Result<Execution> Skills::start(const std::string& skill, Value parameters, const SkillOptions& options) {
  auto when = now();
  char name[48];
  std::snprintf(name, sizeof name, "%llx-%s", static_cast<unsigned long long>(ns(when)), random_hex().c_str());
  auto request = ID::of({"Skill", "Request", options.caller, name});
  auto done = memory_.commit(request,
                             Dict{{"timestamp", when}, {"skill", skill}, {"parameters", std::move(parameters)}, {"caller", options.caller},
                                  {"cause", link_or_null(options.cause)}, {"parent", link_or_null(options.parent)}, {"timeout", or_null(options.timeout)},
                                  {"priority", or_null(options.priority)}, {"dry_run", options.dry_run ? Value(true) : Value()}},
                             {.time = when});
  if (!done) return done.error();
  return Execution(memory_, request);
}

Result<Value, SkillFailed> Skills::run(const std::string& skill, Value parameters, const SkillOptions& options) {
  auto execution = start(skill, std::move(parameters), options);
  if (!execution) return execution.error();
  return execution->result();
}

Execution::Execution(Memory memory, const ID& of) : memory_(std::move(memory)) {
  auto names = of.parts();
  names.resize(std::max<std::size_t>(names.size(), 4));
  id = ID::of({names[0], "Execution", names[2], names[3]});
  request = ID::of({names[0], "Request", names[2], names[3]});
}

Result<Value> Execution::state() {
  auto s = memory_.latest(id);
  if (!s) return s.error();
  return s->value();
}

Result<Value> Execution::watch(const std::function<void(const Value& state)>& each, std::optional<Duration> timeout) {
  auto until = Clock::now() + timeout.value_or(Duration{});
  auto updates = memory_.watch(id.pattern(), {.backfill = 1});
  if (!updates) return updates.error();
  std::optional<Time> last;
  for (;;) {
    auto u = updates->next(timeout ? std::optional<Duration>(std::max<Duration>(until - Clock::now(), Duration{})) : std::nullopt);
    if (!u && u.error().code == Code::canceled) return Error(Code::canceled, id.text(), "it has not ended in time");
    if (!u) return u.error();
    if (!u->snapshot || (last && u->time <= *last)) continue;
    last = u->time;
    auto state = u->snapshot->value();
    if (!state) return state.error();
    each(*state);
    if (ended((*state)["status"].text())) return state;
  }
}

Result<Value, SkillFailed> Execution::result(std::optional<Duration> timeout) {
  auto end = watch([](const Value&) {}, timeout);
  if (!end) return end.error();
  return outcome(*end);
}

Result<std::string> Execution::abort(const std::string& message, Duration timeout, const std::string& by) {
  auto when = now();
  auto until = Clock::now() + timeout;
  Value before;
  if (auto known = state()) before = (*known)["stop"]["asked"];
  auto asked = memory_.commit(ID::of({id.memory(), "Abort", by, id.name()}),
                              Dict{{"timestamp", when}, {"request", Link(request)}, {"reason", "operator"}, {"message", message}, {"by", by}}, {.time = when});
  if (!asked) return asked.error();
  auto updates = memory_.watch(id.pattern(), {.backfill = 1});
  if (!updates) return updates.error();
  for (;;) {
    auto u = updates->next(std::max<Duration>(until - Clock::now(), Duration{}));
    if (!u && u.error().code == Code::canceled) return Error(Code::canceled, id.text(), "no answer to the abort in time");
    if (!u) return u.error();
    if (!u->snapshot) continue;
    auto state = u->snapshot->value();
    if (!state) return state.error();
    const auto& stop = (*state)["stop"];
    if (ended((*state)["status"].text())) return std::string(stop["answer"].text() == "Unconfirmed" ? "Unconfirmed" : "Confirmed");
    if (stop["answer"].text() == "Refused" && !(stop["asked"] == before)) return std::string("Refused");
  }
}

}  // namespace engram
