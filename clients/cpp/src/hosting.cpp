#include "engram/hosting.hpp"

#include <errno.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <random>
#include <regex>
#include <set>
#include <thread>

#include "engram/v1/host.pb.h"
#include "messages.hpp"
#include "servers.hpp"

namespace engram {

namespace pb = google::protobuf;

struct Asked::Request {
  api::QueryRequest query;
};

namespace {

constexpr auto retry_after = std::chrono::milliseconds(200);
constexpr auto patience_after = std::chrono::seconds(10);  // for which somebody else may have the memory after a connection broke
constexpr std::size_t most_of_answer = 100 << 20;          // bytes; the server takes 128 MiB

bool passes(Code code) { return code == Code::unavailable || code == Code::canceled || code == Code::exhausted || code == Code::conflict; }

/// Runs jobs in threads of its own, as many as are needed up to a number.
class Pool {
 public:
  explicit Pool(std::size_t most) : most_(most) {}
  ~Pool() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
      waiting_.clear();
      changed_.notify_all();
    }
    for (auto& t : threads_) t.join();
  }
  void run(std::function<void()> job) {
    std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(job));
    if (waiting_.size() > idle_ && threads_.size() < most_) threads_.emplace_back([this] { work(); });
    changed_.notify_one();
  }
  void drop() {
    std::lock_guard lock(mutex_);
    waiting_.clear();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
      --idle_;
      if (closed_) return;
      auto job = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      job();
      lock.lock();
    }
  }

  std::size_t most_, idle_ = 0;
  bool closed_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  std::vector<std::thread> threads_;
};

bool selects(const api::NameSelector& s, const std::string& name) {
  switch (s.kind_case()) {
    case api::NameSelector::kName: return s.name() == name;
    case api::NameSelector::kNames: return std::find(s.names().names().begin(), s.names().names().end(), name) != s.names().names().end();
    case api::NameSelector::kRegex:
      try {
        return std::regex_match(name, std::regex(s.regex()));
      } catch (const std::regex_error&) {
        return true;  // RE2 has what std::regex has not
      }
    default: return true;
  }
}

bool concerns_below(const api::QueryNode& node, const std::vector<std::string>& names, std::size_t level) {
  if (level == names.size() || node.children().empty()) return true;
  for (const auto& child : node.children()) {
    if (selects(child.names(), names[level]) && concerns_below(child, names, level + 1)) return true;
  }
  return false;
}

std::string identifier(const std::string& name) {
  std::string text;
  for (unsigned char c : name) {
    char hex[4];
    std::snprintf(hex, sizeof hex, "_%x", c);
    text += c == '_' || (c < 128 && std::isalnum(c)) ? std::string(1, char(c)) : hex;
  }
  return text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) ? "_" + text : text;
}

/// Adds files to a set that has each once, those that are imported first.
void add_files(pb::FileDescriptorSet& to, const pb::FileDescriptor* file) {
  for (const auto& known : to.file()) {
    if (known.name() == file->name()) return;
  }
  for (int i = 0; i < file->dependency_count(); ++i) add_files(to, file->dependency(i));
  auto* added = to.add_file();
  file->CopyTo(added);
  file->CopyJsonNameTo(added);
}

/// The file that defines a message, by its full name.
const pb::FileDescriptorProto* file_of(const pb::FileDescriptorSet& set, const std::string& message) {
  for (const auto& file : set.file()) {
    for (const auto& m : file.message_type()) {
      if ((file.package().empty() ? "" : file.package() + ".") + m.name() == message) return &file;
    }
  }
  return nullptr;
}

struct Defined {
  std::string id, name;
  std::vector<Member> members;
};

/// Makes a type of members.
void define(api::TypeDef& type, const Defined& d, Servers& servers) {
  auto dot = d.name.rfind('.');
  pb::FileDescriptorSet set;
  pb::FileDescriptorProto file;
  std::set<std::string> imports;
  auto path = d.name;
  std::replace(path.begin(), path.end(), '.', '/');
  file.set_name(path + ".proto");
  file.set_package(d.name.substr(0, dot));
  file.set_syntax("proto3");
  auto* message = file.add_message_type();
  message->set_name(d.name.substr(dot + 1));
  for (const auto& m : d.members) {
    auto* field = message->add_field();
    field->set_name(m.name);
    field->set_json_name(m.name);
    field->set_number(message->field_size());
    field->set_type(pb::FieldDescriptorProto::Type(m.kind));
    field->set_label(m.list ? pb::FieldDescriptorProto::LABEL_REPEATED : pb::FieldDescriptorProto::LABEL_OPTIONAL);
    if (m.optional && !m.list) {
      field->set_proto3_optional(true);
      field->set_oneof_index(message->oneof_decl_size());
      message->add_oneof_decl()->set_name("_" + m.name);
    }
    if (m.message.empty()) continue;
    field->set_type_name("." + m.message);
    pb::FileDescriptorSet known;
    // Links lie in the file of values.
    if (!known.ParseFromString(servers.fetch_type(m.message == "engram.idf.v1.Link" ? "engram.idf.v1.Value" : m.message))) throw Error(Code::corrupt, m.message, "the server's descriptors cannot be read");
    const auto* from = file_of(known, m.message);
    if (!from) throw Error(Code::unsupported, d.id + ": " + m.name, m.message + " is no type of a file's own");
    imports.insert(from->name());
    for (const auto& f : known.file()) {
      if (std::none_of(set.file().begin(), set.file().end(), [&](const auto& have) { return have.name() == f.name(); })) *set.add_file() = f;
    }
  }
  for (const auto& i : imports) file.add_dependency(i);
  *set.add_file() = std::move(file);
  type.set_name(d.name);
  type.set_descriptors(set.SerializeAsString());
}

void refuse(api::Error& out, const std::string& thing, const Error& e) {
  out.set_code(std::string(to_string(e.code)));
  out.set_thing(e.thing.empty() ? thing : e.thing);
  out.set_message(e.message);
}

/// Calls a hook; what it throws is an Error.
template <class F>
auto hooked(const std::string& memory, F&& hook) {
  try {
    return hook().value();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    throw Error(Code::internal, memory, std::string("a hook threw: ") + e.what());
  } catch (...) {
    throw Error(Code::internal, memory, "a hook threw what is no std::exception");
  }
}

}  // namespace

bool Asked::concerns(const ID& below) const {
  auto names = below.parts();
  for (const auto& node : request->query.memories()) {
    if (concerns_below(node, names, 0)) return true;
  }
  return false;
}

/// Hosts the memory in a thread of its own; hooks are answered by others.
struct HostedMemory::Impl {
  Impl(std::shared_ptr<Servers> s, std::string n, HostOptions o) : servers(std::move(s)), name(std::move(n)), options(std::move(o)) {
    std::random_device random;
    begin.set_memory(name);
    begin.set_program(options.program.empty() ? program_invocation_short_name : options.program);
    begin.set_session(std::to_string(random()) + "-" + std::to_string(random()) + "-" + std::to_string(random()));
    begin.set_timeout_nanos(options.timeout.count());
    begin.set_calls(options.calls);
  }
  ~Impl() {
    close();
    if (hosting.joinable()) hosting.join();
  }

  std::shared_ptr<Servers> servers;
  std::string name;
  HostOptions options;
  api::HostBegin begin;
  std::vector<Defined> defined;
  CommitHook commit_hook;
  QueryHook query_hook;
  PredictHook predict_hook;

  std::mutex mutex;
  std::condition_variable changed;
  bool closed = false, ready = false, ended = true;
  std::optional<Error> failed;
  std::shared_ptr<Pipe> pipe;
  std::thread hosting;

  void add(const std::string& id, const SegmentOptions& o, const std::string& type);
  std::string type_of(const std::string& id) const;
  Result<void> start();
  Result<void> wait(std::optional<Duration> timeout);
  void close();
  void host();
  void serve(std::map<int, Pool>& pools);
  void answer(Pipe& to, const std::shared_ptr<const api::HostResponse>& call, Clock::time_point until);
  void commit(const std::shared_ptr<const api::HostResponse>& call, api::HostAnswer& out);
  void query(const api::HostResponse& call);
  void predict(const api::HostResponse& call, api::HostAnswer& out);
};

void HostedMemory::Impl::add(const std::string& id, const SegmentOptions& o, const std::string& type) {
  auto* s = begin.add_segments();
  fill(*s, o);
  s->set_id(ID::of({name}).text() + "/" + id);
  s->set_type(type);
}

std::string HostedMemory::Impl::type_of(const std::string& id) const { return identifier(name) + "." + identifier(ID(id).name()); }

Result<void> HostedMemory::Impl::start() {
  std::unique_lock lock(mutex);
  if (!ended) return Error(Code::already_exists, name, "this program hosts the memory already");
  if (hosting.joinable()) hosting.join();  // it has ended
  closed = ready = ended = false;
  failed.reset();
  hosting = std::thread([this] { host(); });
  changed.wait(lock, [&] { return ready || ended; });
  if (failed) return *failed;
  return {};
}

Result<void> HostedMemory::Impl::wait(std::optional<Duration> timeout) {
  std::unique_lock lock(mutex);
  auto over = [&] { return ended; };
  if (!timeout) changed.wait(lock, over);
  else if (!changed.wait_for(lock, *timeout, over)) return Error(Code::canceled, name, "the memory is hosted still");
  if (failed) return *failed;
  return {};
}

void HostedMemory::Impl::close() {
  std::lock_guard lock(mutex);
  closed = true;
  if (pipe) pipe->close();
  changed.notify_all();
}

void HostedMemory::Impl::host() {
  std::optional<Error> why;
  {
    std::map<int, Pool> pools;
    for (int hook : {api::HOOK_COMMIT, api::HOOK_QUERY, api::HOOK_PREDICT}) pools.try_emplace(hook, options.calls ? options.calls : 16);
    auto patience = Clock::now();
    for (;;) {
      auto done = attempt([&] { serve(pools); });
      for (auto& [hook, pool] : pools) pool.drop();
      std::unique_lock lock(mutex);
      bool hosted = pipe && ready;
      pipe.reset();
      if (closed) break;
      if (!done && !(done.error().code == Code::already_exists ? Clock::now() < patience : ready && passes(done.error().code))) {
        why = done.error();
        break;
      }
      if (hosted) patience = Clock::now() + patience_after;
      if (changed.wait_for(lock, retry_after, [&] { return closed; })) break;
    }
  }
  std::lock_guard lock(mutex);
  failed = why;
  ended = true;
  changed.notify_all();
}

void HostedMemory::Impl::serve(std::map<int, Pool>& pools) {
  api::HostRequest request;
  *request.mutable_begin() = begin;
  for (const auto& d : defined) define(*request.mutable_begin()->add_types(), d, *servers);
  if (commit_hook) request.mutable_begin()->add_hooks(api::HOOK_COMMIT);
  if (query_hook) request.mutable_begin()->add_hooks(api::HOOK_QUERY);
  if (predict_hook) request.mutable_begin()->add_hooks(api::HOOK_PREDICT);
  auto stream = std::make_shared<Pipe>(*servers->rpc(), "HostService/Host");
  stream->send(request.SerializeAsString());
  while (auto bytes = stream->receive()) {
    auto call = std::make_shared<api::HostResponse>();
    if (!call->ParseFromString(*bytes)) throw Error(Code::corrupt, name, "the server's call cannot be read");
    if (call->has_begun()) {
      servers->memories();  // has it now
      std::lock_guard lock(mutex);
      pipe = stream;
      ready = true;
      changed.notify_all();
      if (closed) stream->close();
      continue;
    }
    auto hook = call->has_commit() ? api::HOOK_COMMIT : call->has_query() ? api::HOOK_QUERY : api::HOOK_PREDICT;
    auto until = Clock::now() + Duration(call->timeout_nanos());
    pools.at(hook).run([this, stream, call, until] { answer(*stream, call, until); });
  }
}

void HostedMemory::Impl::answer(Pipe& to, const std::shared_ptr<const api::HostResponse>& call, Clock::time_point until) {
  api::HostRequest request;
  auto refused = [&](const Error& e) {
    request.clear_answer();
    refuse(*request.mutable_answer()->mutable_error(), name, e);
  };
  auto done = attempt([&] {
    if (Clock::now() > until) throw Error(Code::unavailable, name, "the program was too busy to answer in time");  // it waited for others
    if (call->has_commit()) commit(call, *request.mutable_answer());
    if (call->has_query()) query(*call);
    if (call->has_predict()) predict(*call, *request.mutable_answer());
  });
  if (!done) refused(done.error());
  request.mutable_answer()->set_call(call->call());
  if (auto size = request.ByteSizeLong(); size > most_of_answer) {
    refused(Error(Code::exhausted, name, "the program answered with " + std::to_string(size) + " bytes; at most " + std::to_string(most_of_answer) + " pass"));
    request.mutable_answer()->set_call(call->call());
  }
  to.send(request.SerializeAsString());
}

void HostedMemory::Impl::commit(const std::shared_ptr<const api::HostResponse>& call, api::HostAnswer& out) {
  const auto& update = call->commit();
  auto entity = entity_of(update.entity());
  Snapshot s{.entity = entity, .time = update.has_time() ? time_of(update.time()) : now(), .arrived = {}, .number = 0, .recalled = false, .predicted = false, .instances = {}};
  for (const auto& i : update.instances()) {
    s.instances.push_back(instance_of(i, call, servers->types));
    if (s.instances.back().type.empty()) s.instances.back().type = segment_type_of(*servers, entity);
  }
  auto instead = hooked(name, [&] { return commit_hook(s); });
  if (instead) fill(*out.mutable_commit(), commit_of(*servers, *instead));
}

void HostedMemory::Impl::query(const api::HostResponse& call) {
  Asked asked;
  asked.memory = name;
  asked.request = std::make_shared<Asked::Request>(Asked::Request{call.query()});
  hooked(name, [&] { return query_hook(asked); });
}

void HostedMemory::Impl::predict(const api::HostResponse& call, api::HostAnswer& out) {
  out.mutable_predict();
  for (const auto& text : call.predict().ids()) {
    auto* p = out.mutable_predict()->add_predictions();
    p->set_id(text);
    auto done = attempt([&] {
      ID id = text;
      auto time = id.time();
      if (!time) throw Error(Code::invalid, text, "the ID of a snapshot has a time");
      EntityUpdate update{id.entity(), hooked(name, [&] { return predict_hook(id.entity(), *time); }).instances, *time};
      auto c = commit_of(*servers, update);
      p->mutable_snapshot()->set_time(ns(c.time));
      for (const auto& i : c.instances) fill(*p->mutable_snapshot()->add_instances(), i);
    });
    if (done) continue;
    p->clear_snapshot();
    refuse(*p->mutable_error(), text, done.error());
  }
}

HostedMemory::HostedMemory(std::shared_ptr<Servers> servers, std::string name, HostOptions options)
    : impl_(std::make_unique<Impl>(std::move(servers), std::move(name), std::move(options))) {}
HostedMemory::HostedMemory(HostedMemory&&) noexcept = default;
HostedMemory& HostedMemory::operator=(HostedMemory&&) noexcept = default;
HostedMemory::~HostedMemory() = default;

void HostedMemory::add_segment(const std::string& id, const SegmentOptions& options) { impl_->add(id, options, options.type); }

void HostedMemory::add_segment(const std::string& id, std::vector<Member> members, const SegmentOptions& options) {
  auto type = impl_->type_of(id);
  impl_->add(id, options, type);
  impl_->defined.push_back({impl_->name + "/" + id, type, std::move(members)});
}

void HostedMemory::add_segment(const std::string& id, const google::protobuf::Descriptor& type, const SegmentOptions& options) {
  pb::FileDescriptorSet set;
  add_files(set, type.file());
  auto* t = impl_->begin.add_types();
  t->set_name(type.full_name());
  t->set_descriptors(set.SerializeAsString());
  impl_->add(id, options, type.full_name());
}

void HostedMemory::on_commit(CommitHook hook) { impl_->commit_hook = std::move(hook); }
void HostedMemory::on_query(QueryHook hook) { impl_->query_hook = std::move(hook); }
void HostedMemory::on_predict(PredictHook hook) { impl_->predict_hook = std::move(hook); }
Result<void> HostedMemory::start() { return impl_->start(); }
Result<void> HostedMemory::wait(std::optional<Duration> timeout) { return impl_->wait(timeout); }
void HostedMemory::close() { impl_->close(); }

}  // namespace engram
