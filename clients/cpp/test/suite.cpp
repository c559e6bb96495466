// The cases of memorytest/cases, which every client passes; cases.go says what they mean.
//
//   suite ADDRESS FOLDER
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "../src/json.hpp"
#include "engram/engram.hpp"

using engram::Dict, engram::List, engram::Value;
using namespace std::chrono_literals;

namespace {

Dict read(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const auto v = engram::value_of_json(text.str());
  if (!v) throw std::runtime_error(file.string() + " is not JSON");
  return *v->get<Dict>();
}

std::string base64(std::string_view text) {
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  unsigned bits = 0, n = 0;
  for (char c : text) {
    auto at = letters.find(c);
    if (at == std::string::npos) continue;
    bits = bits << 6 | unsigned(at), n += 6;
    if (n >= 8) out += char(bits >> (n -= 8) & 0xff);
  }
  return out;
}

const List none;
const List& list(const Value& v) { return v.get<List>() ? *v.get<List>() : none; }
engram::Time time_of(const Value& v) { return engram::Time(engram::Duration(std::int64_t(v.number().value_or(0)))); }
std::string text(const Value& v) { return std::string(v.text()); }

/// What was said is in what is there; members that are left out are zero.
bool holds(const Value& want, const Value& have) {
  if (const auto* dict = want.get<Dict>()) {
    return std::all_of(dict->begin(), dict->end(), [&](const auto& m) { return holds(m.second, have[m.first]); });
  }
  if (want.get<List>()) {
    const auto &a = list(want), &b = list(have);
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), holds);
  }
  if (want.get<bool>()) return *want.get<bool>() == (have.get<bool>() && *have.get<bool>());
  if (want.number()) return *want.number() == have.number().value_or(0);
  if (have.number()) return text(want) == std::to_string(std::int64_t(*have.number()));  // a 64-bit integer
  return want.text() == have.text();
}

struct Got {
  std::string entity, error;
  engram::Time time;
  std::size_t instances = 0;
  float confidence = 0;
  Value value;
};

class Case {
 public:
  Case(engram::Memory m, std::string name, const Value& c) : m_(std::move(m)), name_(std::move(name)), types_(c["segments"]) {
    static int made = 0;
    static const auto run = std::to_string(engram::now().time_since_epoch().count());
    for (const auto& [key, type] : *types_.get<Dict>()) {
      segments_[key] = "GeneralPurpose/case" + run + "-" + std::to_string(++made);
      m_.add_segment(segments_[key], {.type = text(type)}).value();
    }
  }

  bool run(const Value& c) {
    int at = 0;
    for (const auto& s : list(c["steps"])) {
      auto got = step(s);
      std::string error = got ? "" : std::string(to_string(got.error().code));
      if (error != s["error"].text()) fail(at, "the error is \"" + error + "\" " + (got ? "" : got.error().what()));
      else if (got && !s["subscribe"].get<Dict>()) compare(at, s, *std::move(got));
      ++at;
    }
    return passed_;
  }

 private:
  void fail(int step, const std::string& why) {
    std::cout << name_ << ", step " << step << ": " << why << "\n";
    passed_ = false;
  }

  std::string place(const Value& v) {
    auto t = text(v);
    auto slash = t.find('/');
    return segments_.at(t.substr(0, slash)) + (slash == std::string::npos ? "" : t.substr(slash));
  }

  std::string back(const engram::ID& id) {
    for (const auto& [key, segment] : segments_) {
      if (id.text().starts_with(segment + "/")) return key + id.text().substr(segment.size());
    }
    return id.text();
  }

  Got describe(const engram::Snapshot& s) {
    Got g{.entity = back(s.entity), .error = {}, .time = s.time, .instances = s.instances.size(), .value = {}};
    if (s.instances.empty()) return g;
    g.confidence = s.instances[0].confidence;
    if (!s.instances[0].bytes.empty()) g.value = s.value().value();
    return g;
  }

  engram::Result<std::vector<Got>> step(const Value& s) {
    std::vector<Got> got;
    if (s["commit"].get<List>()) {
      std::vector<engram::EntityUpdate> updates;
      for (const auto& u : list(s["commit"])) {
        auto key = text(u["entity"]).substr(0, text(u["entity"]).find('/'));
        auto type = !text(u["type"]).empty() ? text(u["type"]) : !text(types_[key]).empty() ? text(types_[key]) : "engram.idf.v1.Value";
        engram::EntityUpdate update{place(u["entity"]), {}, time_of(u["time"])};
        for (const auto& i : list(u["instances"])) {
          Dict members = *i["value"].get<Dict>();
          if (type == "memorytest.Marked" && members.contains("mark")) members["mark"] = std::stoll(text(members["mark"]));
          update.instances.push_back({members, float(i["confidence"].number().value_or(1)), {}, type});
        }
        updates.push_back(std::move(update));
      }
      auto done = m_.commit_all(std::move(updates));
      if (!done) return done.error();
      for (const auto& d : *done) {
        got.push_back({.entity = back(d.id.entity()), .error = d.error ? std::string(to_string(d.error->code)) : "", .time = d.id.time().value_or(engram::Time{}), .value = {}});
      }
    } else if (const auto& q = s["query"]; q.get<Dict>()) {
      engram::QueryOptions o;
      for (const auto& one : list(q["select"])) o.select.push_back(selector(one));
      o.where = q["where"].text();
      o.type = q["type"].text();
      for (const auto& f : list(q["fields"])) o.fields.push_back(text(f));
      o.filter_first = q["filter_first"].get<bool>();
      o.payload = !q["without_payload"].get<bool>();
      o.target = q["target"].text() == "wm" ? engram::Target::wm : q["target"].text() == "ltm" ? engram::Target::ltm : engram::Target::both;
      auto found = m_.query(place(q["pattern"]), o);
      if (!found) return found.error();
      for (const auto& one : *found) got.push_back(describe(one));
    } else if (!text(s["latest"]).empty()) {
      auto found = m_.latest(place(s["latest"]), s["at"].number() ? std::optional(time_of(s["at"])) : std::nullopt);
      if (!found) return found.error();
      got.push_back(describe(*found));
    } else if (const auto& w = s["subscribe"]; w.get<Dict>()) {
      engram::WatchOptions o{.where = text(w["where"])};
      if (w["since"].number()) o.backfill = time_of(w["since"]);
      if (w["last"].number()) o.backfill = int(*w["last"].number());
      auto begun = m_.watch(place(w["pattern"]), o);
      if (!begun) return begun.error();
      watch_ = *std::move(begun);
    } else {
      for (int n = int(s["updates"].number().value_or(0)); n > 0; --n) {
        auto u = watch_->next(120s);
        if (!u) return u.error();
        got.push_back(describe(*u->snapshot));
      }
    }
    return got;
  }

  static engram::Selector selector(const Value& s) {
    if (s["all"].get<bool>()) return engram::all();
    if (s["exactly"].number()) return engram::exactly(time_of(s["exactly"]));
    if (s["at"].number()) return engram::at(time_of(s["at"]));
    if (s["nearest"].number()) return engram::nearest(time_of(s["nearest"]), engram::Duration(std::int64_t(s["within"].number().value_or(0))));
    if (const auto& r = list(s["range"]); r.size() == 2) {
      auto end = [](const Value& v) { return v.number() ? std::optional(time_of(v)) : std::nullopt; };
      return engram::range(end(r[0]), end(r[1]));
    }
    if (const auto& i = list(s["index"]); i.size() == 2) return engram::index(std::int64_t(*i[0].number()), std::int64_t(*i[1].number()));
    return engram::latest(std::uint32_t(s["latest"].number().value_or(1)));
  }

  void compare(int at, const Value& s, std::vector<Got> got) {
    if (s["commit"].get<List>() && !s["want"].get<List>()) {
      for (const auto& g : got) {
        if (!g.error.empty()) fail(at, g.entity + " was refused: " + g.error);
      }
      return;
    }
    auto want = list(s["want"]);
    if (s["query"].get<Dict>()) {
      std::sort(got.begin(), got.end(), [](const Got& a, const Got& b) { return std::tie(a.entity, a.time) < std::tie(b.entity, b.time); });
      std::sort(want.begin(), want.end(), [](const Value& a, const Value& b) { return std::pair(text(a["entity"]), time_of(a["time"])) < std::pair(text(b["entity"]), time_of(b["time"])); });
    }
    if (got.size() != want.size()) return fail(at, std::to_string(got.size()) + " snapshots, " + std::to_string(want.size()) + " are wanted");
    for (std::size_t i = 0; i < got.size(); ++i) {
      const auto& g = got[i];
      const auto& w = want[i];
      bool refused = !text(w["error"]).empty();
      bool same = g.entity == text(w["entity"]) && g.error == text(w["error"]) && (refused || g.time == time_of(w["time"])) &&
                  (!w["instances"].number() || double(g.instances) == *w["instances"].number()) &&
                  (!w["confidence"].number() || g.confidence == float(*w["confidence"].number())) && holds(w["value"], g.value);
      if (!same) fail(at, "result " + std::to_string(i) + ", " + g.entity + " at " + engram::to_string(g.time) + " " + g.error + ", is not what is wanted");
    }
  }

  engram::Memory m_;
  std::string name_;
  Value types_;
  std::map<std::string, std::string> segments_;
  std::optional<engram::Watch> watch_;
  bool passed_ = true;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  auto m = engram::connect({.address = argv[1]}).value();
  std::cout << "by " << m.address() << "\n";
  std::filesystem::path folder = argv[2];
  for (const auto& [name, descriptors] : read(folder / "types.json")) m.add_type(name, base64(descriptors.text())).value();
  int cases = 0, failed = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().filename() == "types.json" || file.path().extension() != ".json") continue;
    for (const auto& [name, c] : read(file.path())) {
      ++cases;
      failed += !Case(m, file.path().stem().string() + ": " + name, c).run(c);
    }
  }
  std::cout << cases << " cases, " << failed << " failed\n";
  return failed == 0 && cases > 8 ? 0 : 1;
}
