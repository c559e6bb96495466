#include "local.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>

namespace engram::local {

namespace {

constexpr char magic[8] = {'E', 'N', 'G', 'R', 'A', 'M', 0, 'L'};
constexpr std::uint32_t longest = 1 << 30, room = 64 << 20;
constexpr std::size_t kept = 4, buffered = 1 << 16;

Answer read_answer(Connection& c) {
  Answer a;
  std::vector<std::string> names(4);
  ID entity;
  for (;;) {
    auto r = *c.read();
    while (!r.done()) {
      auto kind = r.take<std::uint8_t>();
      if (kind >= 1 && kind <= 4) {
        names[kind - 1] = r.text();
        if (kind == 4) entity = ID::of(names);
      } else if (kind == 0x10) {
        a.snapshots.push_back(r.snapshot(entity));
      } else if (kind == 0x11) {
        a.missing.push_back(r.missing());
      } else if (kind == 0x12) {
        a.copies.push_back(r.copy());
      } else if (kind == 0x13 && !a.missing.empty()) {
        r.example(a.missing.back());
      } else {
        throw Error(Code::corrupt, "local socket", "an answer has a record of kind " + std::to_string(kind));
      }
    }
    if (!(r.flags & more)) return a;
    c.used(r);
  }
}

class LocalSubscription : public Subscription {
 public:
  LocalSubscription(std::unique_ptr<Connection> c, const std::string& request) : c_(std::move(c)) {
    Writer w;
    w.put(room).out += request;
    c_->send(subscribe, 0, w.out);
    auto r = *c_->read();
    begin.epoch = r.take<std::uint64_t>();
    auto number = r.take<std::uint64_t>();
    if (r.take<std::uint8_t>() & 1) begin.number = number;
  }

  std::vector<Update> batch(Deadline deadline) override {
    auto r = c_->read(deadline);
    if (!r) return {};
    if (!(r->flags & more)) throw Error(Code::unavailable, "local socket", "the server ended the subscription");
    auto count = r->take<std::uint32_t>();
    std::vector<Update> found;
    for (std::uint32_t i = 0; i < count; ++i) found.push_back(r->update());
    c_->used(*r);
    return found;
  }

  void close() override { c_->shut(); }

 private:
  std::unique_ptr<Connection> c_;
};

class LocalStream : public Stream {
 public:
  LocalStream(std::unique_ptr<Connection> c, bool is_recorded) : c_(std::move(c)), flags_(is_recorded ? local::stream | recorded : local::stream) {}

  void send(const Commit& update) override {
    Writer w;
    std::vector<std::string_view> payloads;
    c_->put_commit(w, payloads, {&update, 1});
    c_->send(local::commit, flags_, w.out, payloads);
  }
  bool ready() override { return c_->readable(Clock::now()); }
  Committed receive(const Commit& update) override { return c_->results({&update, 1}).at(0); }

 private:
  std::unique_ptr<Connection> c_;
  std::uint8_t flags_;
};

}  // namespace

Connection::Connection(const std::string& address, std::shared_ptr<Types> types, Duration timeout)
    : address_(address), types_(std::move(types)), buffer_(buffered) {
  auto path = address.substr(address.find(':') + 1);
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof where.sun_path) throw Error(Code::invalid, address, "the path of a socket has 1 to 107 bytes");
  std::memcpy(where.sun_path, path.data(), path.size());
  fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0) broke(std::strerror(errno));
  try {
    auto us = std::max<std::int64_t>(1, std::chrono::duration_cast<std::chrono::microseconds>(timeout).count());
    auto limit = [&](std::int64_t us) {
      timeval t{.tv_sec = us / 1000000, .tv_usec = us % 1000000};
      setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
      setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
    };
    limit(us);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&where), sizeof where) != 0) broke(std::string("the memory server does not answer: ") + std::strerror(errno));
    Writer hello;
    hello.out.append(magic, sizeof magic);
    hello.put(std::uint16_t(2)).put(std::uint16_t(2)).put(longest).put(id_slots).put(type_slots);
    if (::send(fd_, hello.out.data(), hello.out.size(), MSG_NOSIGNAL) != ssize_t(hello.out.size())) broke("the memory server does not answer");
    char welcome[40];
    fill(welcome, sizeof welcome);
    if (std::memcmp(welcome, magic, sizeof magic) != 0) throw Error(Code::unsupported, address, "it is no memory server's local socket");
    std::uint16_t version;
    std::uint32_t slots[3];
    std::memcpy(&version, welcome + 8, 2);
    std::memcpy(slots, welcome + 12, sizeof slots);
    if (version == 0) read();  // why, which it throws
    max_frame_ = slots[0];
    ids = Names(slots[1]);
    type_names = Names(slots[2]);
    limit(0);
  } catch (...) {
    close(fd_);
    throw;
  }
}

Connection::~Connection() {
  if (fd_ >= 0) close(fd_);
}

void Connection::shut() { shutdown(fd_, SHUT_RDWR); }

void Connection::broke(const std::string& why) const { throw Error(Code::unavailable, address_, why); }

bool Connection::readable(Deadline deadline) {
  if (begin_ < end_) return true;
  for (;;) {
    int wait = -1;
    if (deadline) wait = int(std::clamp<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count(), 0, 1 << 30));
    pollfd p{.fd = fd_, .events = POLLIN, .revents = 0};
    int n = poll(&p, 1, wait);
    if (n > 0) return true;
    if (n == 0 && Clock::now() >= *deadline) return false;
    if (n < 0 && errno != EINTR) broke(std::strerror(errno));
  }
}

void Connection::fill(char* to, std::size_t n) {
  for (;;) {
    auto some = std::min(n, end_ - begin_);
    std::memcpy(to, buffer_.data() + begin_, some);
    to += some, n -= some, begin_ += some;
    if (n == 0) return;
    bool direct = n >= buffered;
    auto got = recv(fd_, direct ? to : buffer_.data(), direct ? n : buffered, 0);
    if (got == 0) broke("the memory server has ended the connection");
    if (got < 0) {
      if (errno == EINTR) continue;
      broke(std::string("the connection to the memory server broke: ") + std::strerror(errno));
    }
    if (direct) {
      to += got, n -= std::size_t(got);
      if (n == 0) return;
    } else {
      begin_ = 0, end_ = std::size_t(got);
    }
  }
}

void Connection::send(Kind kind, std::uint8_t flags, std::string_view records, const std::vector<std::string_view>& payloads) {
  std::size_t length = records.size();
  for (auto p : payloads) length += p.size();
  if (length > max_frame_) throw Error(Code::exhausted, address_, std::to_string(length) + " bytes are more than the server takes at once, " + std::to_string(max_frame_));
  Writer w;
  w.put(std::uint32_t(length)).put(std::uint32_t(records.size())).put(std::uint32_t(1)).put(std::uint8_t(kind)).put(flags).put(std::uint16_t(0));
  std::vector<iovec> parts{{w.out.data(), w.out.size()}, {const_cast<char*>(records.data()), records.size()}};
  for (auto p : payloads) {
    if (!p.empty()) parts.push_back({const_cast<char*>(p.data()), p.size()});
  }
  for (std::size_t at = 0; at < parts.size();) {
    msghdr m{};
    m.msg_iov = &parts[at];
    m.msg_iovlen = std::min<std::size_t>(parts.size() - at, 512);
    auto sent = sendmsg(fd_, &m, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) broke(std::string("the connection to the memory server broke: ") + std::strerror(errno));
    auto rest = std::size_t(sent);
    while (at < parts.size() && rest >= parts[at].iov_len) rest -= parts[at++].iov_len;
    if (at < parts.size()) parts[at] = {static_cast<char*>(parts[at].iov_base) + rest, parts[at].iov_len - rest};
  }
}

std::optional<Reader> Connection::read(Deadline deadline) {
  if (deadline && !readable(deadline)) return {};
  char head[16];
  fill(head, sizeof head);
  std::uint32_t length, records;
  std::memcpy(&length, head, 4);
  std::memcpy(&records, head + 4, 4);
  Reader r;
  std::memcpy(&r.call, head + 8, 4);
  r.kind = std::uint8_t(head[12]);
  r.flags = std::uint8_t(head[13]);
  if (records > length || length > longest) throw Error(Code::corrupt, address_, "a frame does not add up");
  std::shared_ptr<char[]> body(new char[length]);
  fill(body.get(), length);
  r.owner = body;
  r.records = {body.get(), records};
  r.payloads = {body.get() + records, length - records};
  r.size = 16 + std::uint64_t(length);
  r.known = &known_;
  r.types = types_;
  if (r.kind == error) throw r.error();
  return r;
}

void Connection::used(const Reader& frame) {
  room_used_ += frame.size;
  if (room_used_ < room / 2) return;
  Writer w;
  w.put(std::uint32_t(std::min<std::uint64_t>(room_used_, 0xffffffff)));
  room_used_ = 0;
  send(credit, 0, w.out);
}

void Connection::put_commit(Writer& w, std::vector<std::string_view>& payloads, std::span<const Commit> updates) {
  w.put(std::uint32_t(updates.size()));
  for (const auto& u : updates) {
    ids.refer(w, u.entity.text(), [&] { w.id(u.entity); });
    w.put(ns(u.time)).put(std::uint32_t(u.instances.size()));
    for (const auto& i : u.instances) {
      type_names.refer(w, i.type, [&] { w.text(i.type); });
      w.put(std::uint32_t(i.bytes.size())).put(i.sent ? ns(*i.sent) : std::int64_t(0)).put(i.confidence).put(std::uint8_t(i.sent.has_value()));
      payloads.push_back(i.bytes);
    }
  }
}

std::vector<Committed> Connection::results(std::span<const Commit> updates) {
  std::vector<Committed> done;
  for (;;) {
    auto r = *read();
    auto count = r.take<std::uint32_t>();
    for (std::uint32_t i = 0; i < count; ++i) {
      Committed c;
      auto status = r.take<std::uint8_t>();
      if (status < 2) c.number = r.take<std::uint64_t>();
      if (done.size() == updates.size()) throw Error(Code::corrupt, address_, "an answer has more results than updates");
      if (status == 0) {
        const auto& u = updates[done.size()];
        c.id = ID(u.entity.text() + "/" + to_string(u.time));
      } else {
        c.id = r.id();
      }
      if (status == 2) c.error = r.error();
      done.push_back(std::move(c));
    }
    if (r.flags & more) continue;
    if (done.size() != updates.size()) throw Error(Code::corrupt, address_, "an answer has not a result for each update");
    return done;
  }
}

Local::Local(std::string where, std::shared_ptr<Types> known, Duration timeout) : timeout_(timeout) {
  address = std::move(where);
  types = std::move(known);
  idle_.push_back(connect());
}

std::unique_ptr<Connection> Local::take() {
  for (;;) {
    std::unique_ptr<Connection> c;
    {
      std::lock_guard lock(mutex_);
      if (idle_.empty()) break;
      c = std::move(idle_.back());
      idle_.pop_back();
    }
    if (!c->readable(Clock::now())) return c;  // else the server has ended it
  }
  return connect();
}

void Local::give(std::unique_ptr<Connection> c) {
  std::lock_guard lock(mutex_);
  if (idle_.size() < kept) idle_.push_back(std::move(c));
}

/// Makes a call on a connection of its own, which the next one has after it: also after an error that ended the
/// call. send, which the call gets, sends; names that were defined for what was not sent are not known to the server.
template <class F>
auto Local::exchange(F&& call) {
  auto c = take();
  bool sent = false;
  auto send = [&](Kind kind, std::uint8_t flags, const Writer& w, const std::vector<std::string_view>& payloads = {}) {
    c->send(kind, flags, w.out, payloads);
    sent = true;
  };
  try {
    auto answer = call(*c, send);
    give(std::move(c));
    return answer;
  } catch (const Error& e) {
    if (sent && e.code != Code::unavailable && e.code != Code::corrupt) give(std::move(c));
    throw;
  }
}

std::vector<Committed> Local::commit(const std::vector<Commit>& updates, bool is_recorded) {
  return exchange([&](Connection& c, auto& send) {
    Writer w;
    std::vector<std::string_view> payloads;
    c.put_commit(w, payloads, updates);
    send(local::commit, is_recorded ? recorded : 0, w, payloads);
    return c.results(updates);
  });
}

Snapshot Local::latest(const ID& entity, std::optional<Time> at) {
  return exchange([&](Connection& c, auto& send) {
    Writer w;
    w.put(std::uint8_t(at.has_value()));
    c.ids.refer(w, entity.text(), [&] { w.id(entity); });
    w.put(at ? ns(*at) : std::int64_t(0));
    send(local::latest, 0, w);
    return c.read()->snapshot(entity);
  });
}

std::string Local::call(const std::string& procedure, const std::string& request) {
  return exchange([&](Connection& c, auto& send) {
    Writer w;
    w.text("/engram.v1.MemoryService/" + procedure).out += request;
    send(local::call, 0, w);
    return std::string(c.read()->records);
  });
}

Answer Local::query(const std::string& request) {
  return exchange([&](Connection& c, auto& send) {
    Writer w;
    w.put(room).out += request;
    send(local::query, detail, w);
    return read_answer(c);
  });
}

std::optional<Answer> Local::select(const ID& entity, const std::vector<Selector>& selectors, Target target, bool payload) {
  if (selectors.size() > 255) return {};
  return exchange([&](Connection& c, auto& send) {
    Writer w;
    w.put(room).put(std::uint8_t(target)).put(std::uint8_t(!payload));
    c.ids.refer(w, entity.text(), [&] { w.id(entity); });
    w.put(std::uint8_t(selectors.size()));
    for (const auto& s : selectors) w.put(std::uint8_t(s.kind)).put(s.a).put(s.b);
    send(local::select, detail, w);
    return read_answer(c);
  });
}

std::unique_ptr<Subscription> Local::subscribe(const std::string& request) { return std::make_unique<LocalSubscription>(connect(), request); }

std::unique_ptr<Stream> Local::stream(bool is_recorded) { return std::make_unique<LocalStream>(connect(), is_recorded); }

}  // namespace engram::local
