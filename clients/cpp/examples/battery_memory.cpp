// Hosts a memory of batteries, which checks what is committed, measures what is asked for, and predicts.
//
//   engram serve                                    # in another terminal
//   cmake -S clients/cpp/examples -B build/node && cmake --build build/node && build/node/battery_memory
//   engram put Battery/State/arm/left '{"voltage": 24100, "charge": 0.8}'
//   engram query Battery
#include <algorithm>
#include <cstdlib>
#include <iostream>

#include <engram/engram.hpp>

using engram::Dict, engram::ID, engram::Result, engram::Snapshot, engram::Time;

int fail(const engram::Error& why) {
  std::cerr << why.what() << "\n";
  return 1;
}

int main() {
  auto m = engram::connect();
  if (!m) return fail(m.error());
  auto battery = m->host("Battery");
  battery.add_segment("State", {engram::member<double>("voltage"), engram::member<double>("charge")}, {.max_count = 10'000});

  battery.on_commit([](const Snapshot& s) -> Result<std::optional<engram::EntityUpdate>> {  // before each update is stored
    auto v = s.value();
    if (!v) return v.error();
    double voltage = (*v)["voltage"].number().value_or(0), charge = (*v)["charge"].number().value_or(0);
    if (charge < 0 || charge > 1) return engram::Error(engram::Code::out_of_range, s.entity.text(), "a charge of " + std::to_string(charge) + "; it is from 0 to 1");
    if (voltage > 1000) return engram::EntityUpdate{s.entity, {Dict{{"voltage", voltage / 1000}, {"charge", charge}}}, s.time};  // it was in mV
    return std::nullopt;  // as it came
  });

  battery.on_query([&](const engram::Asked& asked) -> Result<void> {  // before each query is answered
    double load[1] = {0};
    if (!asked.concerns("State/computer/load") || getloadavg(load, 1) != 1) return {};
    auto done = m->commit("Battery/State/computer/load", Dict{{"voltage", 12.0}, {"charge", std::min(load[0], 100.0) / 100}});
    if (!done) return done.error();
    return {};
  });

  battery.on_predict([&](const ID& entity, Time time) -> Result<engram::Prediction> {
    auto now = m->latest(entity);
    if (!now) return now.error();
    auto v = now->value();
    if (!v) return v.error();
    double hours = std::chrono::duration<double, std::ratio<3600>>(time - now->time).count();
    return Dict{{"voltage", (*v)["voltage"]}, {"charge", std::max((*v)["charge"].number().value_or(0) - 0.1 * hours, 0.0)}};
  });

  if (auto started = battery.start(); !started) return fail(started.error());
  std::cout << "hosting Battery" << std::endl;
  auto end = battery.wait();  // until it is closed, or cannot go on
  return end ? 0 : fail(end.error());
}
