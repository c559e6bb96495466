// Prints each update of a pattern, over restarts of the server.
//
//   follow ADDRESS PATTERN
#include <iostream>

#include "engram/engram.hpp"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  auto watch = engram::connect({.address = argv[1]}).value().watch(argv[2], {.backfill = 1}).value();
  std::cout << "ready" << std::endl;
  while (auto u = watch.next()) {
    auto value = u->snapshot->value();
    std::cout << u->entity << " " << (value ? (*value)["text"].text() : value.error().what()) << (u->restarted ? " restarted" : "") << std::endl;
  }
}
