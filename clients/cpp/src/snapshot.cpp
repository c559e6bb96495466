#include "engram/snapshot.hpp"

#include "transport.hpp"
#include "types.hpp"

namespace engram {

Datum Datum::encoded(std::string type, std::string bytes, float confidence, std::optional<Time> sent) {
  return Datum(std::move(type), std::move(bytes), confidence, sent);
}

Result<std::shared_ptr<const payload::Sender>> Instance::sender() const {
  return attempt([&] { return types->get(type); });
}

Error Instance::misfit(std::string_view as, const payload::Error& e) const {
  return Error(Code::type_mismatch, e.member().empty() ? type : e.member(), e.reason() + " (of a " + type + " as " + std::string(as) + ")");
}

Result<Value> Instance::value() const {
  auto from = sender();
  if (!from) return from.error();
  try {
    return Value::from_payload(bytes, from->get());
  } catch (const payload::Error& e) {
    return Error(Code::corrupt, e.member().empty() ? type : e.member(), e.reason());
  }
}

Result<Value> Snapshot::value() const {
  if (instances.empty()) return Error(Code::not_found, id().text(), "the snapshot has no instance");
  return instances[0].value();
}

}  // namespace engram
