// Where frames were, and how sure that is; docs/pose.md.
#pragma once

#include "engram/memory.hpp"

namespace engram {

/// The pose of a frame, source, in another, target: it maps coordinates in source to coordinates
/// in target. Metres.
struct Transform {
  std::string target{}, source{};
  payload::Vector3 translation{};
  payload::Quaternion rotation = payload::Quaternion::identity();
  Time time{};
  /// 6x6, row by row, over x, y, z and rotations about them, in the source's axes; NaN for what is
  /// not estimated.
  std::optional<std::array<double, 36>> covariance{};
  bool interpolated = false, held = false, extrapolated = false, is_static = false;

  payload::Vector3 apply(const payload::Vector3& point) const;  ///< maps a point in source to target
  Transform inverse() const;                                    ///< without covariance
  payload::Pose pose() const { return {translation, rotation}; }
  /// The pose of other's source in this target; other's target is this source.
  Transform operator*(const Transform& other) const;
};

struct LookupOptions {
  std::optional<Time> at{};          ///< the newest that is known of all edges, if absent
  bool wait = false;               ///< until the time is known
  std::optional<Duration> timeout{}; ///< of waiting
  std::optional<std::uint64_t> as_of{};  ///< a revision
};

struct PoseOptions {
  std::optional<Time> time{};  ///< now, if absent
  bool is_static = false;
  std::string robot{};         ///< this one, if empty
};

class Poses {
 public:
  /// TooNew, TooOld or NotFound say why there is none.
  Result<Transform> lookup(const std::string& target, const std::string& source, const LookupOptions& options = {});
  /// Many times at once; what is not known is an error at its place.
  Result<std::vector<Result<Transform>>> lookup_all(const std::string& target, const std::string& source, std::span<const Time> at);
  /// Says where the frame child is in parent. Frames without a slash are the robot's.
  Result<ID> commit(const std::string& parent, const std::string& child, const payload::Pose& pose, const PoseOptions& options = {});

  Poses(Memory memory, std::shared_ptr<Servers> servers) : memory_(std::move(memory)), servers_(std::move(servers)) {}

 private:
  Memory memory_;
  std::shared_ptr<Servers> servers_;
};

}  // namespace engram
