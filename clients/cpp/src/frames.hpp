// The records of the local protocol, docs/formats/local.md: how they are written and read.
#pragma once

#include <cstring>
#include <deque>
#include <unordered_map>

#include "transport.hpp"

namespace engram::local {

enum Kind : std::uint8_t {
  commit = 1, latest, call, query, subscribe, credit, cancel, select,
  results = 0x81, snapshot, reply, answer, subscribed, updates, error,
};

constexpr std::uint8_t more = 1, stream = 2, recorded = 4, detail = 2;
constexpr std::uint32_t defined = 1u << 31;
constexpr std::uint32_t id_slots = 8192, type_slots = 512;

struct Writer {
  std::string out;

  template <class T>
  Writer& put(T v) {
    out.append(reinterpret_cast<const char*>(&v), sizeof v);
    return *this;
  }
  Writer& text(std::string_view v) {
    if (v.size() > 0xffff) throw Error(Code::invalid, std::string(v.substr(0, 60)), "the text is too long");
    put(std::uint16_t(v.size()));
    out.append(v);
    return *this;
  }
  void id(const ID& id);
};

/// The names that this side has sent, by slot.
class Names {
 public:
  explicit Names(std::uint32_t slots) : slots_(slots) {}

  /// Writes a reference; with the definition, which define writes, if the name is new.
  template <class F>
  void refer(Writer& w, const std::string& name, F&& define) {
    if (auto known = by_name_.find(name); known != by_name_.end()) {
      w.put(known->second);
      return;
    }
    auto slot = std::uint32_t(by_name_.size());
    if (slot >= slots_) {
      auto oldest = by_name_.find(order_.front());
      slot = oldest->second;
      by_name_.erase(oldest);
      order_.pop_front();
    }
    by_name_.emplace(name, slot);
    order_.push_back(name);
    w.put(defined | slot);
    define();
  }

 private:
  std::uint32_t slots_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::deque<std::string> order_;
};

/// The names that the other side has sent, by slot.
struct Known {
  std::vector<ID> ids = std::vector<ID>(id_slots);
  std::vector<std::string> types = std::vector<std::string>(type_slots);
};

/// Reads the records of a frame, and the payloads that they name.
class Reader {
 public:
  std::uint8_t kind = 0, flags = 0;
  std::uint32_t call = 0;
  std::uint64_t size = 0;  ///< of the frame
  std::shared_ptr<const char[]> owner;
  std::string_view records, payloads;
  Known* known = nullptr;
  std::shared_ptr<Types> types;

  bool done() const { return records.empty(); }
  template <class T>
  T take() {
    T v;
    std::memcpy(&v, bytes(sizeof v).data(), sizeof v);
    return v;
  }
  std::string_view bytes(std::size_t n) { return cut(records, n); }
  std::string text() { return std::string(bytes(take<std::uint16_t>())); }
  Time time() { return time_of(take<std::int64_t>()); }
  ID id();
  const ID& id_reference();
  const std::string& type_reference();
  Snapshot snapshot(const ID& entity);
  Missing missing();
  void example(Missing& m) { m.example = id().text(), m.detail = text(); }
  Update update();
  CopyUsed copy();
  Error error();

 private:
  static std::string_view cut(std::string_view& from, std::size_t n) {
    if (n > from.size()) throw Error(Code::corrupt, "local socket", "the records of a frame do not add up");
    auto part = from.substr(0, n);
    from.remove_prefix(n);
    return part;
  }
};

}  // namespace engram::local
