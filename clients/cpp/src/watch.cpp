// Updates as they come: subscriptions that go on after a connection broke. It does as package
// transport/internal/resume of the Go client.
#include "watch.hpp"

#include <condition_variable>
#include <deque>
#include <random>
#include <thread>

namespace engram {

namespace {

using std::chrono::milliseconds;
constexpr auto first_pause = milliseconds(20), longest_pause = milliseconds(2000);
constexpr std::size_t waiting = 64;  // batches of several servers that wait here

/// What is remembered of a subscription, to go on without gap or duplicate, across epochs of the server.
struct State {
  std::optional<std::int64_t> since;
  bool from_now;
  std::uint64_t epoch = 0, last = 0, backfill = 0, dropped = 0;
  bool resumable = false, restarted = false;

  void begun(const Begin& begin) {
    if (epoch != 0 && epoch != begin.epoch) new_epoch();
    epoch = begin.epoch;
    if (resumable) return;
    backfill = begin.number.value_or(0);
    if (from_now && begin.number) last = *begin.number, resumable = true;
  }

  void new_epoch() { epoch = last = backfill = 0, resumable = restarted = true; }

  std::vector<Update> deliver(std::vector<Update> batch) {
    std::vector<Update> kept;
    for (auto& u : batch) {
      dropped += u.dropped;
      if (resumable && u.number <= last && (!u.failed || u.number < last)) continue;
      if (since && u.number <= backfill && !u.failed && ns(u.time) < *since) continue;
      last = u.number, resumable = true;
      u.dropped = std::exchange(dropped, 0);
      u.restarted |= std::exchange(restarted, false);
      kept.push_back(std::move(u));
    }
    return kept;
  }
};

bool passes(Code code) { return code == Code::unavailable || code == Code::exhausted || code == Code::canceled; }

}  // namespace

/// The updates of one server.
class Feed {
 public:
  Feed(std::shared_ptr<Transport> transport, api::SubscribeRequest request, std::optional<Duration> give_up)
      : transport_(std::move(transport)), request_(std::move(request)), give_up_(give_up),
        state_{.since = request_.has_since() ? std::optional(request_.since()) : std::nullopt,
               .from_now = request_.start_case() == api::SubscribeRequest::START_NOT_SET} {
    open();
  }

  /// Waits for updates; none at the deadline. Throws Canceled when it was closed.
  std::vector<Update> batch(Deadline deadline) {
    for (;;) {
      if (!current_ && !reopen(deadline)) return {};
      try {
        auto found = current_->batch(deadline);
        if (found.empty() && deadline && Clock::now() >= *deadline) return {};
        auto kept = state_.deliver(std::move(found));
        if (!kept.empty()) return kept;
      } catch (const Error& e) {
        check_open();
        if (!passes(e.code)) throw;
        std::lock_guard lock(mutex_);
        current_.reset();
      } catch (const std::exception& e) {
        throw Error(Code::corrupt, transport_->address, e.what());
      }
    }
  }

  void close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    if (current_) current_->close();
    closing_.notify_all();
  }

 private:
  void check_open() {
    std::lock_guard lock(mutex_);
    if (closed_) throw Error(Code::canceled, "watch", "it was closed");
  }

  void open() {
    auto request = request_;
    if (state_.resumable) {
      request.mutable_resume()->set_number(state_.last);
      request.mutable_resume()->set_epoch(state_.epoch);
    }
    auto opened = transport_->subscribe(request.SerializeAsString());
    state_.begun(opened->begin);
    std::lock_guard lock(mutex_);
    current_ = std::move(opened);
    if (closed_) current_->close();
  }

  /// Connects again; reports whether it did by the deadline.
  bool reopen(Deadline deadline) {
    static thread_local std::minstd_rand random{std::random_device{}()};
    Clock::duration pause = first_pause;
    auto began = Clock::now();
    for (;;) {
      std::chrono::duration<double> jittered = pause * std::uniform_real_distribution(0.5, 1.5)(random);  // so that clients do not come all at once
      auto until = Clock::now() + std::chrono::duration_cast<Clock::duration>(jittered);
      {
        std::unique_lock lock(mutex_);
        closing_.wait_until(lock, deadline ? std::min(until, *deadline) : until, [&] { return closed_; });
        if (closed_) throw Error(Code::canceled, "watch", "it was closed");
      }
      if (deadline && Clock::now() >= *deadline) return false;
      try {
        open();
        return true;
      } catch (const Error& e) {
        if (e.code == Code::conflict) {
          state_.new_epoch();
          pause = first_pause;
          continue;
        }
        if (!passes(e.code)) throw;
        if (give_up_ && Clock::now() - began > *give_up_) throw Error(Code::unavailable, transport_->address, "given up reconnecting: " + e.message);
        pause = std::min<Clock::duration>(2 * pause, longest_pause);
      }
    }
  }

  std::shared_ptr<Transport> transport_;
  api::SubscribeRequest request_;
  std::optional<Duration> give_up_;
  State state_;
  std::mutex mutex_;
  std::condition_variable closing_;
  bool closed_ = false;
  std::unique_ptr<Subscription> current_;
};

/// The updates of one server are read by who waits; those of several by a thread each, into a queue.
struct Watch::Impl {
  std::shared_ptr<Servers> servers;  // lives as long
  std::vector<std::unique_ptr<Feed>> sources;
  std::vector<std::thread> threads;
  std::vector<Update> ready;  // that wait here, the next one last

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Result<std::vector<Update>>> queue;
  bool closed = false;

  ~Impl() {
    close();
    for (auto& t : threads) t.join();
  }

  void close() {
    {
      std::lock_guard lock(mutex);
      closed = true;
      changed.notify_all();
    }
    for (auto& s : sources) s->close();
  }

  void run(Feed& source) {
    for (bool ended = false; !ended;) {
      auto batch = attempt([&] { return source.batch({}); });
      ended = !batch;
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return closed || queue.size() < waiting; });
      if (closed) return;
      queue.push_back(std::move(batch));
      changed.notify_all();
    }
  }

  std::vector<Update> batch(Deadline deadline) {
    if (threads.empty()) {
      {
        std::lock_guard lock(mutex);
        if (closed) throw Error(Code::canceled, "watch", "it was closed");
      }
      return sources[0]->batch(deadline);
    }
    std::unique_lock lock(mutex);
    auto there = [&] { return closed || !queue.empty(); };
    if (!deadline) changed.wait(lock, there);
    else if (!changed.wait_until(lock, *deadline, there)) return {};
    if (closed) throw Error(Code::canceled, "watch", "it was closed");
    auto found = std::move(queue.front());
    queue.pop_front();
    changed.notify_all();
    return std::move(found).value();
  }
};

Watch::Watch(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Watch::Watch(Watch&&) noexcept = default;
Watch& Watch::operator=(Watch&&) noexcept = default;
Watch::~Watch() = default;

void Watch::close() { impl_->close(); }

Result<Update> Watch::next(std::optional<Duration> timeout) {
  auto& ready = impl_->ready;
  Deadline deadline;
  if (timeout) deadline = Clock::now() + *timeout;
  if (ready.empty()) {
    auto batch = attempt([&] { return impl_->batch(deadline); });
    if (!batch) return batch.error();
    if (batch->empty()) return Error(Code::canceled, "watch", "no update came in time");
    ready = *std::move(batch);
    std::reverse(ready.begin(), ready.end());
  }
  Update next = std::move(ready.back());
  ready.pop_back();
  return next;
}

Watch watch_servers(std::shared_ptr<Servers> servers, const std::vector<std::pair<std::shared_ptr<Transport>, api::SubscribeRequest>>& of, std::optional<Duration> give_up) {
  auto impl = std::make_unique<Watch::Impl>();
  impl->servers = std::move(servers);
  for (const auto& [transport, request] : of) impl->sources.push_back(std::make_unique<Feed>(transport, request, give_up));
  if (impl->sources.size() > 1) {
    for (auto& source : impl->sources) impl->threads.emplace_back([&impl = *impl, &source = *source] { impl.run(source); });
  }
  return Watch(std::move(impl));
}

}  // namespace engram
