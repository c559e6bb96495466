// What is known of types, and members by name as payloads of them.
#pragma once

#include <functional>
#include <map>
#include <mutex>

#include "engram/snapshot.hpp"

namespace engram {

/// The types that servers know, each fetched when it is used first. Safe for concurrent use.
class Types {
 public:
  /// Returns the descriptors of a type; throws.
  using Fetch = std::function<std::string(const std::string& name)>;
  void fetch_by(Fetch fetch);

  /// Throws NotFound if no server knows the type.
  std::shared_ptr<const payload::Sender> get(const std::string& name);
  /// Encodes members by name as a payload of the type. Throws Invalid or OutOfRange, which names the member.
  std::string encode(const std::string& name, const Value& value);

 private:
  struct Known;
  std::shared_ptr<const Known> known(const std::string& name);

  std::mutex mutex_;
  Fetch fetch_;
  std::map<std::string, std::shared_ptr<const Known>> known_;
};

}  // namespace engram
