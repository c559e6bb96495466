// A producer or consumer of 33 bytes, as ../age.go has it for Go.
//
//   age ADDRESS consume|produce ENTITY COUNT
#include <engram/engram.hpp>

#include <bit>
#include <iostream>
#include <thread>

namespace {

constexpr std::string_view type = "bench.Small";

std::int64_t now() { return engram::now().time_since_epoch().count(); }

/// Encodes bench.Small: sent, x, y, n.
std::string encode(std::int64_t sent, double y) {
  std::string out("\x08");
  for (auto n = std::uint64_t(sent); ; n >>= 7) {
    out += char(n < 0x80 ? n : n | 0x80);
    if (n < 0x80) break;
  }
  auto fixed = [&](char tag, std::uint64_t bits, int bytes) {
    out += tag;
    for (int i = 0; i < bytes; ++i) out += char(bits >> (8 * i));
  };
  fixed(0x11, std::bit_cast<std::uint64_t>(1.0), 8);
  fixed(0x19, std::bit_cast<std::uint64_t>(y), 8);
  fixed(0x25, 7, 4);
  return out;
}

std::int64_t sent_of(std::string_view payload) {
  std::uint64_t n = 0;
  for (std::size_t i = 1; i < payload.size(); ++i) {
    n |= std::uint64_t(payload[i] & 0x7f) << (7 * (i - 1));
    if (!(payload[i] & 0x80)) break;
  }
  return std::int64_t(n);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  auto m = engram::connect({.address = argv[1]}).value();
  engram::ID entity = argv[3];
  int count = std::stoi(argv[4]);
  if (argv[2] == std::string("produce")) {
    for (int i = 0; i < count; ++i) {
      m.commit(entity, engram::Datum::encoded(std::string(type), encode(now(), i + 1))).value();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return 0;
  }
  auto updates = m.watch(entity.pattern()).value();
  std::cout << "ready" << std::endl;
  std::vector<double> ages;
  while (int(ages.size()) < count) {
    auto u = updates.next().value();
    ages.push_back(double(now() - sent_of(u.snapshot->instances.at(0).bytes)) / 1e3);
  }
  for (auto a : ages) std::cout << a << " ";
  std::cout << std::endl;
}
