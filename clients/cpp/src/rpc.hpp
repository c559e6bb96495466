// gRPC: the way to servers elsewhere, and for the calls of features.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>

#include <deque>
#include <functional>
#include <mutex>

#include "transport.hpp"

namespace engram {

/// A file of credentials, as "engram auth add" makes it: certificate, key, authority.
std::shared_ptr<grpc::ChannelCredentials> read_credentials(const std::string& file);

/// A call that is answered by several messages, of which it may send several, too. One thread at a time
/// uses it; close may be called from any.
class Exchange;

/// A memory server by gRPC. Safe for concurrent use.
class Rpc : public Transport {
 public:
  Rpc(std::string address, std::shared_ptr<Types> types, const std::string& credentials);

  /// Makes a call of any service, such as "PoseService/LookUp", with encoded messages.
  std::string unary(const std::string& method, const std::string& request, std::optional<Duration> timeout = {});

  /// Makes a call that is answered by several messages, and hands over each.
  void each(const std::string& method, const std::string& request, const std::function<void(const std::string&)>& part);

  std::vector<Committed> commit(const std::vector<Commit>& updates, bool recorded) override;
  Snapshot latest(const ID& entity, std::optional<Time> at) override;
  std::string call(const std::string& procedure, const std::string& request) override { return unary("MemoryService/" + procedure, request); }
  Answer query(const std::string& request) override;
  std::unique_ptr<Subscription> subscribe(const std::string& request) override;
  std::unique_ptr<Stream> stream(bool recorded) override;

 private:
  friend class Exchange;
  friend class Pipe;
  /// gRPC makes a connection that broke anew only while somebody waits for it.
  void reconnect();

  std::shared_ptr<grpc::Channel> channel_;
};

/// A call of messages in both directions, each in its own time. One thread receives, which is also what sends;
/// send and close may be called from any.
class Pipe {
 public:
  Pipe(Rpc& owner, const std::string& method);
  ~Pipe();
  /// Hands over a message, which goes once receive is called; none goes after the end.
  void send(std::string message);
  /// Waits for the next message; nothing at a good end. Throws why it ended else.
  std::optional<std::string> receive();
  void close() { context_.TryCancel(); }

 private:
  void finish();

  std::string address_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  grpc::ByteBuffer in_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  std::mutex mutex_;
  std::deque<std::string> waiting_;  // the first is being written
  bool ended_ = false;
};

}  // namespace engram
