// Prints what is predicted at a fork, why nothing is said of what cannot be predicted, and what of a trace is doubtful.
//
//   predicted ADDRESS
#include <cmath>
#include <iomanip>
#include <iostream>

#include "engram/engram.hpp"

using namespace std::chrono_literals;
using engram::Dict, engram::ID;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto m = engram::connect({.address = argv[1]}).value();
  const engram::Time begin{1772614800s};
  constexpr int steps = 50;

  // A robot goes along x to 3, then to the left in 6 of 10 cases, and begins anew.
  const ID robot = "RobotState/Localization/cpp/walker";
  auto stream = m.stream();
  int i = 0;
  for (; i < 50 * steps + 30; ++i) {
    double way = 0.1 * (i % steps), side = std::max(way - 3, 0.0) * (i / steps % 5 < 3 ? 1 : -1);
    stream.commit(robot, Dict{{"parent_frame_id", "odom"}, {"child_frame_id", "walker"},
                              {"translation", Dict{{"x", std::min(way, 3.0) + 0.01 * std::sin(7.0 * i)}, {"y", side + 0.01 * std::cos(5.0 * i)}}},
                              {"rotation", Dict{{"w", 1.0}}}},
                  begin + i * 100ms).value();
  }
  stream.flush().value();
  auto p = m.predict(robot, begin + (i + 9) * 100ms).value();
  if (p.error) throw *p.error;
  const auto& y = p.members.at("translation.y");
  std::cout << std::fixed << std::setprecision(1) << "in " << p.horizon.count() / 1e9 << " s y is from " << y.low << " to " << y.high << " by " << y.model << "\n";
  for (const auto& h : p.hypotheses) {
    const auto& own = h.members.at("translation.y");
    std::cout << h.probability << ": " << own.mean << ", in the snapshot " << h.snapshot->value().value()["translation"]["y"].number().value() << ", after " << h.sources.size()
              << " situations, sd " << (std::abs(h.covariances.at("")[7] - own.sd * own.sd) < 1e-9 ? "as its covariance" : "other") << "\n";
  }
  std::cout << "all " << (p.covariances.at("")[7] > 10 * p.hypotheses.at(0).covariances.at("")[7] ? "are less sure" : "are as sure") << ", from " << p.sources.at(0) << "\n";

  m.commit("Speech/Text/cpp/said", Dict{{"text", "hello"}}, {.time = begin, .recorded = true}).value();
  auto none = m.predict("Speech/Text/cpp/said", begin + 1s).value();
  std::cout << (none.snapshot ? "said" : "not said") << ", " << none.hypotheses.size() << " hypotheses, " << (none.error ? none.error->what() : "no reason") << "\n";

  const ID marker = "Object/Instance/cpp/marker", cup = "Object/Instance/cpp/cup";
  for (int k = 0; k < 3; ++k) {
    m.commit(marker, Dict{}, {.time = begin + k * 1s, .recorded = true}).value();
    m.commit(cup, Dict{{"attachment", engram::Link(marker)}}, {.time = begin + k * 1s + 1ms, .recorded = true}).value();
  }
  m.commit("SystemState/Withdrawal/cpp/half", Dict{{"entities", std::string(marker.text())}, {"end", begin + 500ms}, {"reason", "it was dark"}}).value();
  for (const auto& n : m.trace(marker, {.direction = engram::Direction::down}).value()) std::cout << n.id << ": " << n.doubtful << "\n";
}
