// Answers the requests of golden_test.go.
#include <functional>
#include <iostream>
#include <map>
#include <sstream>

#include "golden/golden.hpp"

using engram::payload::Sender;

template <class T>
std::string answer(std::string_view data, const Sender* sender) {
  T object = T::from_payload(data, sender);
  std::string written = object.to_payload();
  if (!(T::from_payload(written) == object)) throw std::logic_error("is not equal to itself");
  return written;
}

const std::map<std::string, std::string (*)(std::string_view, const Sender*)> answers = {
// TABLE
};

std::string unhex(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) out.push_back(char(std::stoi(text.substr(i, 2), nullptr, 16)));
  return out;
}

int main() {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream parts(line);
    std::string name, data, from, descriptors;
    parts >> name >> data >> from >> descriptors;
    try {
      std::optional<Sender> sender;
      if (!from.empty()) sender.emplace(from, unhex(descriptors));
      std::string out = "-";
      for (unsigned char c : answers.at(name)(unhex(data), sender ? &*sender : nullptr)) {
        out += "0123456789abcdef"[c >> 4];
        out += "0123456789abcdef"[c & 15];
      }
      std::cout << out << "\n";
    } catch (const engram::payload::Error& e) {
      std::cout << "ERR " << e.what() << "\n";
    }
  }
}
