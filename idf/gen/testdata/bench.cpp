#include <chrono>
#include <fstream>
#include <iostream>
#include <sstream>

#include "golden/golden.hpp"

template <class F>
double least(F&& call) {
  double best = 1e9;
  for (int round = 0; round < 40; ++round) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < 500; ++i) call();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 500);
  }
  return best;
}

int main() {
  std::ostringstream text;
  text << std::ifstream("payload", std::ios::binary).rdbuf();
  std::string data = text.str();
  auto object = engram::bench::Complex::from_payload(data);
  volatile std::size_t sum = 0;
  std::cout << least([&] { sum = sum + engram::bench::Complex::from_payload(data).image->data.size(); }) << "\n";
  std::cout << least([&] { sum = sum + object.to_payload().size(); }) << "\n";
}
