#include "engram/questions.hpp"

#include "engram/v1/knowledge.pb.h"
#include "engram/v1/link.pb.h"
#include "json.hpp"
#include "messages.hpp"
#include "servers.hpp"

namespace engram {

namespace {

/// Makes a call that is answered by several messages.
template <class Response, class Each>
void call_each(Rpc& rpc, const std::string& method, const google::protobuf::MessageLite& request, Each&& each) {
  rpc.each(method, request.SerializeAsString(), [&](const std::string& bytes) {
    Response part;
    if (!part.ParseFromString(bytes)) throw Error(Code::corrupt, rpc.address, "the server's answer cannot be read");
    each(part);
  });
}

}  // namespace

Result<Trace> Memory::trace(const ID& start, const TraceOptions& options) {
  return attempt([&] {
    api::TraceRequest request;
    request.set_start(start.text());
    request.set_depth(options.depth);
    request.set_direction(api::TraceDirection(options.direction));
    if (options.at) request.set_at(ns(*options.at));
    request.set_doubts(true);
    request.mutable_options()->set_members(true);
    request.mutable_options()->mutable_within()->Add(options.within.begin(), options.within.end());
    Trace trace;
    call_each<api::TraceResponse>(*servers_->rpc(start.memory()), "LinkService/Trace", request, [&](const api::TraceResponse& response) {
      for (const auto& p : response.parts()) {
        if (p.has_node()) {
          const auto& n = p.node();
          trace.nodes.push_back({n.id(), n.depth(), n.type(), time_of(n.arrived()), n.confidence(), value_of_json(n.members()).value_or(Value{}), n.missing(), {}});
        }
        if (p.has_edge()) trace.edges.push_back({p.edge().from(), p.edge().to(), p.edge().path()});
        if (p.has_doubt()) {
          for (auto& n : trace.nodes) {
            if (n.id == ID(p.doubt().id())) n.doubtful = p.doubt().why();
          }
        }
        if (p.has_more()) trace.cut.push_back(p.more().what() + (p.more().detail().empty() ? "" : ": " + p.more().detail()));
      }
    });
    return trace;
  });
}

Result<std::vector<BackLink>> Memory::back_links(const ID& target, const std::string& from, std::int64_t limit) {
  return attempt([&] {
    api::BackLinksRequest request;
    request.set_target(target.text());
    request.set_from(from);
    request.set_limit(limit);
    std::vector<BackLink> found;
    call_each<api::BackLinksResponse>(*servers_->rpc(target.memory()), "LinkService/BackLinks", request, [&](const api::BackLinksResponse& response) {
      for (const auto& b : response.links()) found.push_back({b.source(), b.path(), b.target(), time_of(b.arrived())});
    });
    return found;
  });
}

Result<std::vector<Row>> Memory::ask(const std::string& question, const AskOptions& options) {
  return attempt([&] {
    api::AskRequest request;
    request.set_question(question);
    request.set_language(api::QuestionLanguage(options.language));
    request.set_rows(options.limit);
    if (options.at) request.set_at(ns(*options.at));
    if (options.as_of) request.set_as_of(ns(*options.as_of));
    if (options.timeout) request.set_timeout_nanos(options.timeout->count());
    std::vector<Row> rows;
    call_each<api::AskResponse>(*servers_->rpc(), "KnowledgeService/AskStepwise", request, [&](const api::AskResponse& response) {
      for (const auto& r : response.rows()) {
        Row row;
        for (int i = 0; i < r.names_size(); ++i) {
          if (auto v = r.values().fields().find(r.names(i)); v != r.values().fields().end()) row.values[r.names(i)] = value_of(v->second);
          if (i < r.texts_size()) row.texts[r.names(i)] = r.texts(i);
        }
        row.probability = r.probability() == 0 ? 1 : r.probability();
        rows.push_back(std::move(row));
      }
    });
    return rows;
  });
}

}  // namespace engram
