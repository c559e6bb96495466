#include "rpc.hpp"

#include <google/protobuf/any.pb.h>
#include <google/protobuf/unknown_field_set.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <sstream>

#include "messages.hpp"

namespace engram {

namespace {

constexpr auto reconnect_within = std::chrono::milliseconds(500);

grpc::ByteBuffer buffer_of(const std::string& bytes) {
  grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string bytes_of(const grpc::ByteBuffer& buffer) {
  grpc::Slice whole;
  if (!buffer.DumpToSingleSlice(&whole).ok()) return {};
  return {reinterpret_cast<const char*>(whole.begin()), whole.size()};
}

Code code_of(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::FAILED_PRECONDITION: return Code::invalid;
    case grpc::StatusCode::NOT_FOUND: return Code::not_found;
    case grpc::StatusCode::ALREADY_EXISTS: return Code::already_exists;
    case grpc::StatusCode::OUT_OF_RANGE: return Code::out_of_range;
    case grpc::StatusCode::ABORTED: return Code::conflict;
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED: return Code::forbidden;
    case grpc::StatusCode::UNAVAILABLE: return Code::unavailable;
    case grpc::StatusCode::RESOURCE_EXHAUSTED: return Code::exhausted;
    case grpc::StatusCode::DATA_LOSS: return Code::corrupt;
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::DEADLINE_EXCEEDED: return Code::canceled;
    case grpc::StatusCode::UNIMPLEMENTED: return Code::unsupported;
    default: return Code::internal;
  }
}

/// Reads the engram.v1.Error of an encoded google.rpc.Status, whose members 3 are of google.protobuf.Any.
std::optional<api::Error> detail_of(const std::string& status) {
  google::protobuf::UnknownFieldSet members;
  if (!members.ParseFromString(status)) return {};
  for (int i = 0; i < members.field_count(); ++i) {
    const auto& member = members.field(i);
    google::protobuf::Any any;
    api::Error error;
    bool is_any = member.number() == 3 && member.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED && any.ParseFromString(member.length_delimited());
    if (is_any && any.UnpackTo(&error)) return error;
  }
  return {};
}

/// Throws the error of a failed call; the detail that servers of ours add has its code.
[[noreturn]] void fail(const grpc::Status& status, const std::string& address) {
  if (auto detail = detail_of(status.error_details())) throw error_of(*detail);
  auto text = status.error_message();
  if (text.find("certificate verify failed") != std::string::npos) throw Error(Code::forbidden, address, "who answers is not a server of this deployment: " + text);
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) text = "the memory server does not answer: " + text;
  throw Error(code_of(status.error_code()), address, text.empty() ? "the call failed" : text);
}

struct Target {
  std::string name;
  bool unix_socket = false, secure = false;
};

/// Returns what gRPC calls the address. Throws Invalid for what is none.
Target target_of(const std::string& address) {
  auto after = [&](std::string_view prefix) { return std::string(address.substr(prefix.size())); };
  if (address.starts_with("unix:")) {
    auto path = after("unix:");
    if (path.starts_with("//")) path = path.substr(2);
    if (path.empty()) throw Error(Code::invalid, address, "the address of a Unix socket has no path; write unix:/path/engram.sock");
    return {"unix:" + path, true, false};
  }
  if (address.starts_with("nats:") || address.starts_with("tls:")) {
    throw Error(Code::unsupported, address, "C++ reaches servers by sockets and TCP, not through the backbone; give a server's address");
  }
  if (auto at = address.rfind('@'); at != std::string::npos) {
    throw Error(Code::invalid, "xxxxx" + address.substr(at), "an address names no user; say who you are by credentials");
  }
  bool secure = address.starts_with("https://");
  auto name = secure ? after("https://") : address.starts_with("http://") ? after("http://") : address;
  if (name.ends_with('/')) name.pop_back();
  auto colon = name.rfind(':');
  auto port = colon == std::string::npos ? "" : name.substr(colon + 1);
  bool number = !port.empty() && port.size() < 6 && port.find_first_not_of("0123456789") == std::string::npos && std::stoi(port) > 0 && std::stoi(port) < 65536;
  if (!number || colon == 0 || name.find('/') != std::string::npos) {
    throw Error(Code::invalid, address, "not an address; write unix:/path, http://host:port or host:port");
  }
  return {name, false, secure};
}

api::CommitRequest commit_request(const std::vector<Commit>& updates, bool recorded) {
  api::CommitRequest request;
  request.set_recorded(recorded);
  for (const auto& u : updates) fill(*request.add_updates(), u);
  return request;
}

std::vector<Committed> results_of(const api::CommitResponse& response) {
  std::vector<Committed> done;
  for (const auto& r : response.results()) {
    done.push_back({r.id(), r.number(), r.has_error() ? std::optional(error_of(r.error())) : std::nullopt});
  }
  return done;
}

void add_nodes(Answer& answer, const std::vector<std::string>& above, const api::ResultNode& node, const std::shared_ptr<const void>& owner, const std::shared_ptr<Types>& types) {
  auto names = above;
  names.push_back(node.name());
  if (node.snapshots_size() > 0) {
    auto entity = ID::of(names);
    for (const auto& s : node.snapshots()) answer.snapshots.push_back(snapshot_of(entity, s, owner, types));
  }
  for (const auto& child : node.children()) add_nodes(answer, names, child, owner, types);
}

}  // namespace

void fill(api::Instance& message, const Encoded& instance) {
  message.set_confidence(instance.confidence);
  message.mutable_payload()->set_type(instance.type);
  message.mutable_payload()->set_data(instance.bytes);
  if (instance.sent) message.set_sent(ns(*instance.sent));
}

void fill(api::EntityUpdate& message, const Commit& update) {
  message.set_entity(update.entity.text());
  message.set_time(ns(update.time));
  for (const auto& i : update.instances) fill(*message.add_instances(), i);
}

Missing missing_of(const api::Missing& m) { return {m.id(), m.reason(), m.count(), time_of(m.start()), time_of(m.end()), m.example(), m.detail()}; }

Instance instance_of(const api::Instance& i, std::shared_ptr<const void> owner, std::shared_ptr<Types> types) {
  Instance instance;
  instance.type = i.payload().type();
  instance.bytes = i.payload().data();
  instance.confidence = i.has_confidence() ? i.confidence() : 1;
  if (i.has_sent()) instance.sent = time_of(i.sent());
  instance.owner = std::move(owner);
  instance.types = std::move(types);
  return instance;
}

Snapshot snapshot_of(const ID& entity, const api::Snapshot& s, std::shared_ptr<const void> owner, std::shared_ptr<Types> types) {
  Snapshot made{.entity = entity, .time = time_of(s.time()), .arrived = time_of(s.arrived()), .number = s.number(), .recalled = s.recalled(), .predicted = s.predicted(), .instances = {}};
  for (const auto& i : s.instances()) made.instances.push_back(instance_of(i, owner, types));
  return made;
}

std::shared_ptr<grpc::ChannelCredentials> read_credentials(const std::string& file) {
  struct stat info{};
  if (stat(file.c_str(), &info) != 0) throw Error(Code::not_found, file, std::string("the credentials cannot be read: ") + std::strerror(errno));
  if ((info.st_mode & 077) != 0 && !std::getenv("CREDENTIALS_DIRECTORY")) {
    throw Error(Code::forbidden, file, "others may read or change the credentials; 'chmod 600' the file, and rotate them if others could read it");
  }
  std::ostringstream read;
  read << std::ifstream(file).rdbuf();
  auto text = read.str();
  auto blocks = [&](const std::string& kind) {
    std::vector<std::string> found;
    const std::string begin = "-----BEGIN " + kind + "-----", end = "-----END " + kind + "-----";
    for (auto at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
      auto stop = text.find(end, at);
      if (stop != std::string::npos) found.push_back(text.substr(at, stop + end.size() - at) + "\n");
    }
    return found;
  };
  auto certificates = blocks("CERTIFICATE"), keys = blocks("PRIVATE KEY");
  if (certificates.size() < 2 || keys.size() != 1) {
    throw Error(Code::invalid, file, "no credentials: a certificate, its key and an authority are wanted; make them with 'engram auth add'");
  }
  std::string authorities;
  for (std::size_t i = 1; i < certificates.size(); ++i) authorities += certificates[i];
  // The authority must have signed the server's certificate; hosts' names do not count, as robots change networks.
  namespace tls = grpc::experimental;
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::make_shared<tls::StaticDataCertificateProvider>(
      authorities, std::vector<tls::IdentityKeyCertPair>{{keys[0], certificates[0]}}));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_verify_server_certs(true);
  options.set_check_call_host(false);
  options.set_certificate_verifier(std::make_shared<tls::NoOpCertificateVerifier>());
  return tls::TlsCredentials(options);
}

class Exchange {
 public:
  Exchange(Rpc& owner, const std::string& method) : owner_(owner), stub_(owner.channel_) {
    owner.reconnect();
    call_ = stub_.PrepareCall(&context_, "/engram.v1." + method, &queue_);
    call_->StartCall(this);
    if (!wait()) finish();
  }
  ~Exchange() {
    context_.TryCancel();
    queue_.Shutdown();
    void* tag;
    for (bool ok; queue_.Next(&tag, &ok);) {
    }
  }
  void write(const std::string& request) {
    call_->Write(buffer_of(request), this);
    if (!wait()) finish();
  }
  void writes_done() {
    call_->WritesDone(this);
    if (!wait()) finish();
  }
  /// Waits for the next message; nothing at the end or, with reading() then, at the deadline.
  std::optional<std::string> read(Deadline deadline = {}) {
    if (!reading_) call_->Read(&in_, this);
    reading_ = true;
    void* tag;
    bool ok = false;
    if (!deadline) {
      queue_.Next(&tag, &ok);
    } else {
      auto until = std::chrono::system_clock::now() + (*deadline - Clock::now());
      if (queue_.AsyncNext(&tag, &ok, until) == grpc::CompletionQueue::TIMEOUT) return {};
    }
    reading_ = false;
    if (ok) return bytes_of(in_);
    finish();
    return {};
  }
  bool reading() const { return reading_; }
  void close() { context_.TryCancel(); }

 private:
  bool wait() {
    void* tag;
    bool ok = false;
    queue_.Next(&tag, &ok);
    return ok;
  }
  void finish() {
    grpc::Status status;
    call_->Finish(&status, this);
    wait();
    if (!status.ok()) fail(status, owner_.address);
  }

  Rpc& owner_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  grpc::ByteBuffer in_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  bool reading_ = false;
};

namespace {

class RpcSubscription : public Subscription {
 public:
  RpcSubscription(Rpc& owner, const std::string& request) : types_(owner.types), address_(owner.address), exchange_(owner, "MemoryService/Subscribe") {
    exchange_.write(request);
    exchange_.writes_done();
    auto first = parse(exchange_.read());
    begin.epoch = first->epoch();
    if (first->has_number()) begin.number = first->number();
  }

  std::vector<Update> batch(Deadline deadline) override {
    auto bytes = exchange_.read(deadline);
    if (!bytes && exchange_.reading()) return {};
    auto response = parse(bytes);
    std::vector<Update> found;
    for (const auto& u : response->updates()) {
      ID id = u.id();
      Update update{.entity = id.entity(), .time = id.time().value_or(Time{}), .arrived = time_of(u.arrived()), .number = u.number(), .snapshot = {}, .supersedes = u.supersedes(), .restarted = false, .dropped = u.dropped(), .failed = {}};
      if (u.has_failed()) update.failed = missing_of(u.failed());
      if (u.has_snapshot()) {
        update.snapshot = snapshot_of(update.entity, u.snapshot(), response, types_);
        update.time = update.snapshot->time;
      }
      found.push_back(std::move(update));
    }
    return found;
  }

  void close() override { exchange_.close(); }

 private:
  std::shared_ptr<api::SubscribeResponse> parse(const std::optional<std::string>& bytes) {
    auto response = std::make_shared<api::SubscribeResponse>();
    if (!bytes) throw Error(Code::unavailable, address_, "the server ended the subscription");
    if (!response->ParseFromString(*bytes)) throw Error(Code::corrupt, address_, "the server's answer cannot be read");
    return response;
  }

  std::shared_ptr<Types> types_;
  std::string address_;
  Exchange exchange_;
};

class RpcStream : public Stream {
 public:
  RpcStream(Rpc& owner, bool recorded) : address_(owner.address), recorded_(recorded), exchange_(owner, "MemoryService/CommitStream") {}

  void send(const Commit& commit) override { exchange_.write(commit_request({commit}, recorded_).SerializeAsString()); }
  bool ready() override { return false; }
  Committed receive(const Commit&) override {
    api::CommitResponse response;
    auto bytes = exchange_.read();
    if (!bytes) throw Error(Code::unavailable, address_, "the server ended the stream");
    if (!response.ParseFromString(*bytes) || response.results_size() != 1) throw Error(Code::corrupt, address_, "the server's answer cannot be read");
    return results_of(response)[0];
  }

 private:
  std::string address_;
  bool recorded_;
  Exchange exchange_;
};

}  // namespace

Rpc::Rpc(std::string where, std::shared_ptr<Types> known, const std::string& credentials) {
  address = std::move(where);
  types = std::move(known);
  auto target = target_of(address);
  grpc::ChannelArguments arguments;
#ifdef __GLIBC__
  arguments.SetUserAgentPrefix(program_invocation_short_name);  // a statistic: by whom something is asked for
#endif
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1 << 20);
  if (target.unix_socket) arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  auto channel = grpc::InsecureChannelCredentials();
  if ((target.secure || !credentials.empty()) && !target.unix_socket) {
    if (credentials.empty()) throw Error(Code::forbidden, address, "the server wants to know who this program is; give credentials, a file of 'engram auth add'");
    channel = read_credentials(credentials);
  }
  channel_ = grpc::CreateCustomChannel(target.name, channel, arguments);
}

void Rpc::reconnect() {
  auto state = channel_->GetState(true);
  bool broken = state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_CONNECTING;
  if (broken) channel_->WaitForConnected(std::chrono::system_clock::now() + reconnect_within);  // else the call tells why
}

std::string Rpc::unary(const std::string& method, const std::string& request, std::optional<Duration> timeout) {
  reconnect();
  grpc::GenericStub stub(channel_);
  grpc::ClientContext context;
  if (timeout) context.set_deadline(std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::system_clock::duration>(*timeout));
  grpc::CompletionQueue queue;
  grpc::ByteBuffer response;
  grpc::Status status;
  auto call = stub.PrepareUnaryCall(&context, "/engram.v1." + method, buffer_of(request), &queue);
  call->StartCall();
  call->Finish(&response, &status, this);
  void* tag;
  bool ok;
  queue.Next(&tag, &ok);
  if (!status.ok()) fail(status, address);
  return bytes_of(response);
}

std::vector<Committed> Rpc::commit(const std::vector<Commit>& updates, bool recorded) {
  return results_of(call_with<api::CommitResponse>([&](const std::string& r) { return call("Commit", r); }, commit_request(updates, recorded)));
}

Snapshot Rpc::latest(const ID& entity, std::optional<Time> at) {
  api::LatestRequest request;
  request.set_entity(entity.text());
  if (at) request.set_at_or_before(ns(*at));
  auto response = std::make_shared<api::LatestResponse>(call_with<api::LatestResponse>([&](const std::string& r) { return call("Latest", r); }, request));
  return snapshot_of(entity, response->snapshot(), response, types);
}

void Rpc::each(const std::string& method, const std::string& request, const std::function<void(const std::string&)>& part) {
  Exchange exchange(*this, method);
  exchange.write(request);
  exchange.writes_done();
  while (auto bytes = exchange.read()) part(*bytes);
}

Answer Rpc::query(const std::string& request) {
  Answer answer;
  each("MemoryService/QueryStream", request, [&](const std::string& bytes) {
    auto part = std::make_shared<api::QueryResponse>();
    if (!part->ParseFromString(bytes)) throw Error(Code::corrupt, address, "the server's answer cannot be read");
    for (const auto& node : part->memories()) add_nodes(answer, {}, node, part, types);
    for (const auto& m : part->missing()) answer.missing.push_back(missing_of(m));
    for (const auto& c : part->copies()) answer.copies.push_back({c.memory(), c.server(), time_of(c.as_of()), Duration(c.lag_nanos()), c.behind(), c.away()});
  });
  return answer;
}

// A pipe: its reader alone waits at the queue, and begins the next write when one is done.

Pipe::Pipe(Rpc& owner, const std::string& method) : address_(owner.address), stub_(owner.channel_) {
  owner.reconnect();
  call_ = stub_.PrepareCall(&context_, "/engram.v1." + method, &queue_);
  call_->StartCall(this);
  void* tag;
  bool ok = false;
  queue_.Next(&tag, &ok);
  if (!ok) finish();
}

Pipe::~Pipe() {
  context_.TryCancel();
  queue_.Shutdown();
  void* tag;
  for (bool ok; queue_.Next(&tag, &ok);) {
  }
}

void Pipe::send(std::string message) {
  std::lock_guard lock(mutex_);
  if (ended_) return;
  waiting_.push_back(std::move(message));
  if (waiting_.size() == 1) call_->Write(buffer_of(waiting_.front()), &waiting_);
}

std::optional<std::string> Pipe::receive() {
  call_->Read(&in_, this);
  void* tag;
  for (bool ok; queue_.Next(&tag, &ok);) {
    if (tag == this && ok) return bytes_of(in_);
    if (tag == this) break;
    std::lock_guard lock(mutex_);
    if (ok) waiting_.pop_front();
    if (ok && !waiting_.empty()) call_->Write(buffer_of(waiting_.front()), &waiting_);
  }
  finish();
  return {};
}

void Pipe::finish() {
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
  }
  grpc::Status status;
  call_->Finish(&status, &status);
  void* tag = nullptr;
  for (bool ok; tag != &status && queue_.Next(&tag, &ok);) {
  }
  if (!status.ok()) fail(status, address_);
}

std::unique_ptr<Subscription> Rpc::subscribe(const std::string& request) { return std::make_unique<RpcSubscription>(*this, request); }

std::unique_ptr<Stream> Rpc::stream(bool recorded) { return std::make_unique<RpcStream>(*this, recorded); }

}  // namespace engram
