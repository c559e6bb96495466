// The local protocol of docs/formats/local.md: the way to a server on the same host.
#pragma once

#include <mutex>

#include "frames.hpp"

namespace engram::local {

/// One connection to a server, in the hands of one call at a time.
class Connection {
 public:
  Connection(const std::string& address, std::shared_ptr<Types> types, Duration timeout);
  ~Connection();
  Connection(const Connection&) = delete;

  void send(Kind kind, std::uint8_t flags, std::string_view records, const std::vector<std::string_view>& payloads = {});
  /// Reads a frame of the call's answer; throws the error that it may be. Nothing, if none has begun by the deadline.
  std::optional<Reader> read(Deadline deadline = {});
  /// Grants the server room for as much as was read.
  void used(const Reader& frame);
  /// Something can be read: an answer, or that the server has ended the connection.
  bool readable(Deadline deadline);
  void shut();  ///< from any thread: ends who reads

  void put_commit(Writer& w, std::vector<std::string_view>& payloads, std::span<const Commit> updates);
  std::vector<Committed> results(std::span<const Commit> updates);

  Names ids{id_slots}, type_names{type_slots};  // that this side has sent

 private:
  void fill(char* to, std::size_t n);
  [[noreturn]] void broke(const std::string& why) const;

  std::string address_;
  std::shared_ptr<Types> types_;
  int fd_ = -1;
  std::uint32_t max_frame_ = 1 << 16;
  std::uint64_t room_used_ = 0;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // of what was received and not read
  Known known_;
};

/// A memory server at local:/path. Each call has a connection for itself while it lasts; some are kept for the next.
class Local : public Transport {
 public:
  Local(std::string address, std::shared_ptr<Types> types, Duration timeout);

  std::vector<Committed> commit(const std::vector<Commit>& updates, bool recorded) override;
  Snapshot latest(const ID& entity, std::optional<Time> at) override;
  std::string call(const std::string& procedure, const std::string& request) override;
  Answer query(const std::string& request) override;
  std::optional<Answer> select(const ID& entity, const std::vector<Selector>& selectors, Target target, bool payload) override;
  std::unique_ptr<Subscription> subscribe(const std::string& request) override;
  std::unique_ptr<Stream> stream(bool recorded) override;

 private:
  std::unique_ptr<Connection> connect() { return std::make_unique<Connection>(address, types, timeout_); }
  std::unique_ptr<Connection> take();
  void give(std::unique_ptr<Connection> c);
  template <class F>
  auto exchange(F&& call);

  Duration timeout_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace engram::local
