// Hosts a memory whose hooks do what the unit of what is committed says.
//
//   hosted ADDRESS MEMORY
#include <google/protobuf/struct.pb.h>

#include <iostream>
#include <stdexcept>
#include <thread>

#include "engram/engram.hpp"

using namespace std::chrono_literals;
using engram::Dict, engram::ID, engram::Result, engram::member;

namespace {

std::string name;

Result<std::optional<engram::EntityUpdate>> check(const engram::Snapshot& s) {
  auto value = s.value();
  if (!value) return value.error();
  auto unit = (*value)["unit"].text();
  if (unit == "refuse") return engram::Error(engram::Code::out_of_range, "unit", "no such unit");
  if (unit == "throw") throw std::runtime_error("a defect");
  if (unit == "throw 1") throw 1;
  if (unit == "elsewhere") return engram::EntityUpdate{"Speech/Text/me/said", {Dict{{"text", "x"}}}, s.time};
  if (unit == "type") return engram::EntityUpdate{s.entity, {Dict{{"value", "text"}}}, s.time};
  if (unit == "mm") return engram::EntityUpdate{s.entity, {{Dict{{"value", *(*value)["value"].number() / 1000}, {"unit", "m"}}, 0.5}}, s.time};
  if (unit == "hang") {
    std::cout << "hangs" << std::endl;
    std::this_thread::sleep_for(10min);
  }
  return std::nullopt;
}

int fail(const engram::Error& why) {
  std::cerr << why.what() << std::endl;
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  auto m = engram::connect({.address = argv[1]});
  if (!m) return fail(m.error());
  name = argv[2];
  auto hosted = m->host(name, {.timeout = 60s, .program = "victim"});
  hosted.add_segment("State", {member<double>("value"), member<std::string>("unit")}, {.max_count = 100, .durability = engram::Durability::synced});
  hosted.add_segment("Kinds", {member<float>("f"), member<std::int32_t>("i"), member<std::optional<bool>>("b"), member<std::vector<std::int64_t>>("l"),
                               member<engram::payload::Bytes>("data"), member<engram::Time>("t"), member<engram::Duration>("d"), member<ID>("link"),
                               member<engram::Value>("any"), member<engram::payload::Pose>("pose")});
  hosted.add_segment("Message", *google::protobuf::Struct::descriptor());
  hosted.add_segment("Any");
  hosted.on_commit([](const engram::Snapshot& s) { return s.entity.parts()[1] == "State" ? check(s) : std::nullopt; });
  hosted.on_query([&](const engram::Asked& asked) -> Result<void> {
    if (asked.concerns("Any/forbidden")) return engram::Error(engram::Code::forbidden, "that", "nobody may");
    if (asked.concerns("State/test/fails")) throw std::runtime_error("a defect");
    if (asked.concerns("State/test/asked")) m->commit(ID::of({name, "State", "test", "asked"}), Dict{{"value", 7}, {"unit", "m"}}).value();
    return {};
  });
  hosted.on_predict([](const ID& entity, engram::Time time) -> Result<engram::Prediction> {
    if (entity.name() == "unknown") return engram::Error(engram::Code::not_found, "", "nothing is known of it");
    return Dict{{"value", double(time.time_since_epoch() / 1s)}, {"unit", "s"}};
  });
  if (auto started = hosted.start(); !started) return fail(started.error());
  if (hosted.start() || hosted.wait(0s).error().code != engram::Code::canceled) return 3;
  // A full set of kinds is what the memory takes.
  m->commit(ID::of({name, "Kinds", "test", "a"}),
            Dict{{"f", 1.5}, {"i", 2}, {"b", false}, {"l", engram::List{1, 2}}, {"data", "x"}, {"t", engram::now()}, {"d", engram::Duration(1s)}, {"link", "Speech/Text/a/b"},
                 {"any", engram::List{"x", 1}}, {"pose", Dict{{"position", Dict{{"x", 1.0}}}}}}).value();
  std::cout << "hosted" << std::endl;
  // The end of the input ends it.
  std::thread ended([&] {
    std::cin.get();
    hosted.close();
  });
  auto end = hosted.wait();
  ended.join();
  if (!end) return fail(end.error());
  std::cout << "closed" << std::endl;
}
