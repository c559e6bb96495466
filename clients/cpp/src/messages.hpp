// Messages of the API as what the client has.
#pragma once

#include "engram/v1/memory.pb.h"
#include "transport.hpp"

namespace engram {

namespace api = engram::v1;

/// Encodes a message, calls, and reads the answer.
template <class Response, class Call>
Response call_with(Call&& call, const google::protobuf::MessageLite& request) {
  Response response;
  if (!response.ParseFromString(call(request.SerializeAsString()))) throw Error(Code::corrupt, response.GetTypeName(), "the server's answer cannot be read");
  return response;
}

inline Error error_of(const api::Error& e) { return Error(code_of(e.code()), e.thing(), e.message()); }

void fill(api::Instance& message, const Encoded& instance);
void fill(api::Segment& message, const SegmentOptions& options);
void fill(api::EntityUpdate& message, const Commit& update);

Missing missing_of(const api::Missing& m);
/// The payload stays in the message, which owner keeps.
Instance instance_of(const api::Instance& i, std::shared_ptr<const void> owner, std::shared_ptr<Types> types);
/// The payloads stay in the message, which owner keeps.
Snapshot snapshot_of(const ID& entity, const api::Snapshot& s, std::shared_ptr<const void> owner, std::shared_ptr<Types> types);

}  // namespace engram
