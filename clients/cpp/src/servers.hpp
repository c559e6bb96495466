// Which server has which memory: the name system, as the client of Go and the command line ask it.
#pragma once

#include <map>
#include <mutex>

#include "rpc.hpp"
#include "types.hpp"

namespace engram {

/// The servers of the memories, by name. Safe for concurrent use.
class Servers : public std::enable_shared_from_this<Servers> {
 public:
  static std::shared_ptr<Servers> connect(const ConnectOptions& options);

  /// The way to the server of a memory. Throws NotFound if no server has it.
  std::shared_ptr<Transport> of(const std::string& memory);
  /// The ways to all servers that are reached.
  std::vector<std::shared_ptr<Transport>> all();
  /// The ways to the servers that a pattern concerns.
  std::vector<std::shared_ptr<Transport>> matching(std::string_view pattern);
  /// gRPC to the server of a memory, or to the client's home: the way to calls of features.
  std::shared_ptr<Rpc> rpc(const std::string& memory = "");
  std::vector<std::string> memories();

  /// What a type is made of, as an encoded FileDescriptorSet. Throws NotFound if no server knows it.
  std::string fetch_type(const std::string& name);

  std::string address() const { return home_->address; }
  const std::string& robot() const { return robot_; }

  std::shared_ptr<Types> types = std::make_shared<Types>();
  /// The types of segments that were asked for, by core and provider segment.
  std::map<std::string, std::string> segment_types;
  std::mutex segments_mutex;

 private:
  using Names = std::map<std::string, std::vector<std::string>>;  // addresses by memory

  std::shared_ptr<Transport> reach(const std::vector<std::string>& addresses);
  std::shared_ptr<Transport> dial(const std::string& address);
  std::shared_ptr<Rpc> dial_rpc(const std::string& address);
  Names names(bool fresh = false);

  ConnectOptions options_;
  std::string home_address_, robot_;
  std::shared_ptr<Transport> home_;
  std::vector<std::string> hosted_;

  std::mutex mutex_;  // of what follows; nothing is called with it
  std::map<std::string, std::shared_ptr<Transport>> transports_;
  std::map<std::string, std::shared_ptr<Rpc>> rpcs_;
  Names names_;
  Clock::time_point asked_{};
};

/// The type of an entity's segment; engram.idf.v1.Value if it takes any data. Throws NotFound if there is none.
std::string segment_type_of(Servers& servers, const ID& entity);
/// Encodes an update, whose instances are consumed. Throws why it is none that can be written.
Commit commit_of(Servers& servers, EntityUpdate& update);

/// Makes a call that may be made twice, again where the server was away for a moment.
template <class F>
auto retried(F&& call) {
  for (auto pause : {10, 100}) {
    try {
      return call();
    } catch (const Error& e) {
      if (e.code != Code::unavailable) throw;
    }
    timespec time{.tv_sec = 0, .tv_nsec = pause * 1000000L};
    nanosleep(&time, nullptr);
  }
  return call();
}

}  // namespace engram
