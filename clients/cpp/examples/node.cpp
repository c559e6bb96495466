// A node that listens and answers: it watches what is said to the robot, says back how many words
// that was, and offers a skill that does the same for whoever asks.
//
//   cmake -S clients/cpp/examples -B build/node && cmake --build build/node && build/node/node
//   engram put Speech/Text/me/said '{"text": "bring me the cup"}'
//   engram skill run Counter/CountWords --text 'one two three'
#include <csignal>
#include <iostream>
#include <sstream>

#include <engram/engram.hpp>

namespace {

volatile std::sig_atomic_t stopped = 0;

std::int64_t count_words(std::string_view text) {
  std::istringstream words{std::string(text)};
  std::int64_t n = 0;
  for (std::string word; words >> word;) ++n;
  return n;
}

int fail(const char* why) {
  std::cerr << why << "\n";
  return 1;
}

}  // namespace

int main() {
  using namespace std::chrono_literals;
  std::signal(SIGINT, [](int) { stopped = 1; });
  std::signal(SIGTERM, [](int) { stopped = 1; });

  auto m = engram::connect();
  if (!m) return fail(m.error().what());

  auto counter = m->provider("Counter");
  counter.skill("CountWords", {.description = "Counts the words of a text."},
                [](engram::Call&, const engram::Value& parameters) -> engram::Result<engram::Value, engram::SkillFailed> {
                  return engram::Dict{{"words", count_words(parameters["text"].text())}};
                });
  if (auto started = counter.start(); !started) return fail(started.error().what());

  auto watch = m->watch("Speech/Text/me");
  if (!watch) return fail(watch.error().what());
  std::cout << "listening at " << m->address() << std::endl;
  while (!stopped) {
    auto u = watch->next(200ms);
    if (!u && u.error().code == engram::Code::canceled) continue;
    if (!u) return fail(u.error().what());
    auto said = u->snapshot->value();
    if (!said) return fail(said.error().what());
    auto words = count_words((*said)["text"].text());
    auto answer = m->commit("Speech/Text/counter/answer", engram::Dict{{"text", "That were " + std::to_string(words) + " words."}, {"speaker", "counter"}});
    if (!answer) return fail(answer.error().what());
    std::cout << u->id() << ": " << words << " words" << std::endl;
  }
}
