#include "engram/poses.hpp"

#include <array>
#include <limits>

#include "engram/v1/pose.pb.h"
#include "messages.hpp"
#include "servers.hpp"

namespace engram {

namespace {

constexpr std::size_t many = 1000;  // questions in a request

Transform transform_of(const api::PoseAnswer& a) {
  const auto& p = a.pose();
  Transform t{.target = a.target(), .source = a.source(), .translation = {p.x(), p.y(), p.z()}, .rotation = {p.qx(), p.qy(), p.qz(), p.qw()},
              .time = time_of(a.info().target_time()), .covariance = {}, .interpolated = a.info().interpolated(), .held = a.info().held(),
              .extrapolated = a.info().extrapolated(), .is_static = a.info().static_()};
  if (!a.has_covariance() || a.covariance().mask() == 0) return t;
  auto& all = t.covariance.emplace();
  for (int row = 0, i = 0; row < 6; ++row) {
    for (int col = row; col < 6; ++col, ++i) {
      bool known = (a.covariance().mask() >> row & 1) && (a.covariance().mask() >> col & 1);
      double v = i < a.covariance().values_size() ? a.covariance().values(i) : 0;
      all[std::size_t(row * 6 + col)] = all[std::size_t(col * 6 + row)] = known ? v : std::numeric_limits<double>::quiet_NaN();
    }
  }
  return t;
}

Result<Transform> result_of(const api::PoseAnswer& a) {
  if (a.has_error()) return error_of(a.error());
  return transform_of(a);
}

api::LookUpResponse ask(Servers& servers, const api::LookUpRequest& request, std::optional<Duration> timeout) {
  return call_with<api::LookUpResponse>([&](const std::string& r) { return servers.rpc()->unary("PoseService/LookUp", r, timeout); }, request);
}

}  // namespace

payload::Vector3 Transform::apply(const payload::Vector3& point) const {
  auto moved = rotation.rotate(point);
  return {translation.x + moved.x, translation.y + moved.y, translation.z + moved.z};
}

Transform Transform::inverse() const {
  payload::Quaternion back{-rotation.x, -rotation.y, -rotation.z, rotation.w};
  auto moved = back.rotate(translation);
  return {.target = source, .source = target, .translation = {-moved.x, -moved.y, -moved.z}, .rotation = back, .time = time, .covariance = {}};
}

Transform Transform::operator*(const Transform& other) const {
  return {.target = target, .source = other.source, .translation = apply(other.translation), .rotation = rotation * other.rotation, .time = time, .covariance = {}};
}

Result<Transform> Poses::lookup(const std::string& target, const std::string& source, const LookupOptions& options) {
  auto found = attempt([&] {
    api::LookUpRequest request;
    auto* q = request.add_questions();
    q->set_target(target);
    q->set_source(source);
    q->set_when(options.at ? api::PoseQuestion::WHEN_AT : api::PoseQuestion::WHEN_LATEST_COMMON);
    if (options.at) q->set_time(ns(*options.at));
    q->set_wait(options.wait);
    q->set_covariance(true);
    if (options.as_of) q->set_as_of(*options.as_of);
    auto answer = ask(*servers_, request, options.timeout);
    if (answer.answers_size() != 1) throw Error(Code::corrupt, target, "the server's answer has no pose");
    return result_of(answer.answers(0));
  });
  if (!found) return found.error();
  return *std::move(found);
}

Result<std::vector<Result<Transform>>> Poses::lookup_all(const std::string& target, const std::string& source, std::span<const Time> at) {
  return attempt([&] {
    std::vector<Result<Transform>> found;
    for (std::size_t begin = 0; begin < at.size(); begin += many) {
      api::LookUpRequest request;
      for (auto time : at.subspan(begin, std::min(many, at.size() - begin))) {
        auto* q = request.add_questions();
        q->set_target(target);
        q->set_source(source);
        q->set_time(ns(time));
      }
      auto answer = ask(*servers_, request, {});
      if (answer.answers_size() != request.questions_size()) throw Error(Code::corrupt, target, "the server's answer has not all poses");
      for (const auto& a : answer.answers()) found.push_back(result_of(a));
    }
    return found;
  });
}

Result<ID> Poses::commit(const std::string& parent, const std::string& child, const payload::Pose& pose, const PoseOptions& options) {
  auto time = options.time.value_or(now());
  auto p = pose.position.value_or(payload::Vector3{});
  auto q = pose.orientation.value_or(payload::Quaternion::identity());
  auto robot = !options.robot.empty() ? options.robot : memory_.robot().empty() ? "robot" : memory_.robot();
  return memory_.commit(ID::of({"RobotState", "Localization", robot, parent + ">" + child}),
                        Dict{{"timestamp", time}, {"parent_frame_id", parent}, {"child_frame_id", child}, {"translation", Dict{{"x", p.x}, {"y", p.y}, {"z", p.z}}},
                             {"rotation", Dict{{"x", q.x}, {"y", q.y}, {"z", q.z}, {"w", q.w}}}, {"is_static", options.is_static}},
                        {.time = time});
}

}  // namespace engram
