// Payloads as C++ objects: what structs written by "engram gen cpp" are built on.
// Written by engram gen: do not edit. C++20; needs nothing else.
//
// Arrays and images are seen as std::span, and as Eigen's types where Eigen is found.
// What cannot be read, written or cast throws engram::payload::Error.
#ifndef ENGRAM_PAYLOAD_HPP  // each folder of generated code has a copy
#define ENGRAM_PAYLOAD_HPP

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#if __has_include(<Eigen/Geometry>)
#include <Eigen/Geometry>
#define ENGRAM_PAYLOAD_EIGEN 1
#endif

namespace engram::payload {

/// A payload cannot be read, written or cast. member is the path of the member at fault, such
/// as "pose.position.x"; empty if it is the whole.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& reason, const std::string& member = "")
      : std::runtime_error(member.empty() ? reason : member + ": " + reason),
        reason_(std::make_shared<std::pair<std::string, std::string>>(reason, member)) {}

  const std::string& reason() const noexcept { return reason_->first; }
  const std::string& member() const noexcept { return reason_->second; }

  /// The same error, seen from the object that has the member.
  Error under(const std::string& name) const {
    bool dot = !member().empty() && member()[0] != '[';
    return Error(reason(), name + (dot ? "." : "") + member());
  }

 private:
  std::shared_ptr<std::pair<std::string, std::string>> reason_;
};

/// Nanoseconds since 1970-01-01 00:00:00 UTC.
using Time = std::chrono::sys_time<std::chrono::nanoseconds>;
using Duration = std::chrono::nanoseconds;
using Bytes = std::vector<std::uint8_t>;

/// The ID of something in a memory, such as "Object/Class/prior/cup".
struct Link {
  std::string id;
  auto operator<=>(const Link&) const = default;
};

/// The element type of an array.
enum class DType : std::int32_t {
  unspecified = 0, uint8, int8, uint16, int16, uint32, int32, uint64, int64, float32, float64,
};

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) return DType::float32;
  if constexpr (std::is_same_v<T, double>) return DType::float64;
  if constexpr (std::is_integral_v<T>) {
    constexpr int log = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return DType(1 + 2 * log + (std::is_signed_v<T> ? 1 : 0));
  }
  return DType::unspecified;
}

/// A dense array in row-major order, little-endian as this machine.
struct NDArray {
  std::vector<std::int64_t> shape;
  DType dtype = DType::unspecified;
  Bytes data;

  bool operator==(const NDArray&) const = default;

  template <class T>
  static NDArray of(std::span<const T> elements, std::vector<std::int64_t> shape) {
    auto* p = reinterpret_cast<const std::uint8_t*>(elements.data());
    return {std::move(shape), dtype_of<T>(), Bytes(p, p + elements.size_bytes())};
  }

  /// The elements. Throws Error if they are of another type.
  template <class T>
  std::span<const T> as() const {
    if (dtype != dtype_of<T>()) throw Error("the array's elements are of another type");
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }
};

/// A dense matrix in row-major order.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  DType dtype = DType::unspecified;
  Bytes data;

  bool operator==(const Matrix&) const = default;

  template <class T>
  static Matrix of(std::span<const T> elements, std::int64_t rows, std::int64_t cols) {
    auto* p = reinterpret_cast<const std::uint8_t*>(elements.data());
    return {rows, cols, dtype_of<T>(), Bytes(p, p + elements.size_bytes())};
  }

  /// The elements, row by row. Throws Error if they are of another type.
  template <class T>
  std::span<const T> as() const {
    if (dtype != dtype_of<T>()) throw Error("the matrix's elements are of another type");
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }

#ifdef ENGRAM_PAYLOAD_EIGEN
  template <class T>
  using EigenMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  /// The matrix as a view.
  template <class T>
  Eigen::Map<const EigenMatrix<T>> eigen() const {
    return {as<T>().data(), rows, cols};
  }

  /// Takes what Eigen can evaluate to a matrix of numbers, in whatever order it is stored.
  template <class Derived>
  static Matrix of(const Eigen::MatrixBase<Derived>& m) {
    using T = typename Derived::Scalar;
    EigenMatrix<T> rows = m;
    return of(std::span<const T>(rows.data(), std::size_t(rows.size())), rows.rows(), rows.cols());
  }
#endif
};

/// A member that may be unset, of an object that contains its own kind: as std::optional.
template <class T>
class Box {
 public:
  Box() = default;
  Box(std::nullopt_t) {}
  Box(T value) : held_(std::make_unique<T>(std::move(value))) {}
  Box(const Box& other) : held_(other.held_ ? std::make_unique<T>(*other.held_) : nullptr) {}
  Box(Box&&) noexcept = default;
  Box& operator=(Box other) noexcept {
    held_ = std::move(other.held_);
    return *this;
  }

  bool has_value() const noexcept { return held_ != nullptr; }
  explicit operator bool() const noexcept { return has_value(); }
  T& operator*() noexcept { return *held_; }
  const T& operator*() const noexcept { return *held_; }
  T* operator->() noexcept { return held_.get(); }
  const T* operator->() const noexcept { return held_.get(); }
  T& emplace() { return *(held_ = std::make_unique<T>()); }
  void reset() noexcept { held_.reset(); }

  friend bool operator==(const Box& a, const Box& b) {
    return a.has_value() == b.has_value() && (!a.has_value() || *a == *b);
  }

 private:
  std::unique_ptr<T> held_;
};

class Sender;

/// Any datum; std::monostate is null.
struct Value {
  using List = std::vector<Value>;
  using Dict = std::map<std::string, Value>;
  std::variant<std::monostate, bool, std::int32_t, std::int64_t, float, double, std::string, Time,
               Duration, NDArray, List, Dict, Link>
      is;

  Value() = default;
  Value(std::nullptr_t) {}
  Value(bool v) : is(v) {}
  Value(float v) : is(v) {}
  Value(double v) : is(v) {}
  Value(const char* v) : is(std::string(v)) {}
  Value(std::string_view v) : is(std::string(v)) {}
  Value(std::string v) : is(std::move(v)) {}
  Value(Time v) : is(v) {}
  Value(Duration v) : is(v) {}
  Value(NDArray v) : is(std::move(v)) {}
  Value(List v) : is(std::move(v)) {}
  Value(Dict v) : is(std::move(v)) {}
  Value(Link v) : is(std::move(v)) {}
  template <std::integral T>
  Value(T v) {
    if constexpr (sizeof(T) < 4 || (sizeof(T) == 4 && std::is_signed_v<T>)) is = std::int32_t(v);
    else is = std::int64_t(v);
  }

  bool operator==(const Value&) const = default;

  /// The datum as T; null if it is of another type.
  template <class T>
  const T* get() const {
    return std::get_if<T>(&is);
  }
  /// A member of a dict; null if there is none.
  const Value& operator[](std::string_view member) const;
  /// The number, of whatever type; nothing if it is none.
  std::optional<double> number() const;
  /// The text, the ID of a link, or nothing at all.
  std::string_view text() const;

  /// Reads a Value or, with a sender, a payload of that type: as a dict of the members that are
  /// set. Members that are zero or empty are left out where their type has no presence.
  static Value from_payload(std::string_view bytes, const Sender* sender = nullptr);
  std::string to_payload() const;
};

/// The type of who sent a payload: its full name, and the encoded FileDescriptorSet that it
/// travels with ("engram type descriptors NAME -o FILE" writes one). Immutable; may be used by
/// several threads.
class Sender {
 public:
  Sender(std::string name, std::string_view descriptors);
  const std::string& name() const { return name_; }

  struct Types;
  const Types& types() const { return *types_; }

 private:
  std::string name_;
  std::shared_ptr<const Types> types_;
};

/// A vector or position, m: foxglove.Vector3.
struct Vector3 {
  static constexpr std::string_view type_name = "foxglove.Vector3";
  double x = 0, y = 0, z = 0;

  bool operator==(const Vector3&) const = default;
  std::string to_payload() const;
  static Vector3 from_payload(std::string_view bytes, const Sender* sender = nullptr);

#ifdef ENGRAM_PAYLOAD_EIGEN
  Eigen::Vector3d eigen() const { return {x, y, z}; }
  static Vector3 of(const Eigen::Vector3d& v) { return {v.x(), v.y(), v.z()}; }
#endif
};

/// A rotation: foxglove.Quaternion. One that was not written is all zeros, not the identity.
struct Quaternion {
  static constexpr std::string_view type_name = "foxglove.Quaternion";
  double x = 0, y = 0, z = 0, w = 0;

  bool operator==(const Quaternion&) const = default;
  std::string to_payload() const;
  static Quaternion from_payload(std::string_view bytes, const Sender* sender = nullptr);
  static Quaternion identity() { return {0, 0, 0, 1}; }

  /// The rotation by other, then by this.
  Quaternion operator*(const Quaternion& o) const {
    return {w * o.x + x * o.w + y * o.z - z * o.y, w * o.y - x * o.z + y * o.w + z * o.x,
            w * o.z + x * o.y - y * o.x + z * o.w, w * o.w - x * o.x - y * o.y - z * o.z};
  }
  /// The vector, rotated; the quaternion must be of length 1.
  Vector3 rotate(const Vector3& v) const {
    Quaternion q = *this * Quaternion{v.x, v.y, v.z, 0} * Quaternion{-x, -y, -z, w};
    return {q.x, q.y, q.z};
  }

#ifdef ENGRAM_PAYLOAD_EIGEN
  Eigen::Quaterniond eigen() const { return {w, x, y, z}; }
  static Quaternion of(const Eigen::Quaterniond& q) { return {q.x(), q.y(), q.z(), q.w()}; }
#endif
};

/// Position, m, and orientation of something in a frame: foxglove.Pose.
struct Pose {
  static constexpr std::string_view type_name = "foxglove.Pose";
  std::optional<Vector3> position;
  std::optional<Quaternion> orientation;

  bool operator==(const Pose&) const = default;
  std::string to_payload() const;
  static Pose from_payload(std::string_view bytes, const Sender* sender = nullptr);
  static Pose identity() { return {Vector3{}, Quaternion::identity()}; }

  /// The pose other, given in the frame this, in the frame that this is given in. What is unset
  /// is zero or the identity.
  Pose operator*(const Pose& other) const {
    Quaternion q = orientation.value_or(Quaternion::identity());
    Vector3 p = position.value_or(Vector3{}), moved = q.rotate(other.position.value_or(Vector3{}));
    return {Vector3{p.x + moved.x, p.y + moved.y, p.z + moved.z},
            q * other.orientation.value_or(Quaternion::identity())};
  }

#ifdef ENGRAM_PAYLOAD_EIGEN
  Eigen::Isometry3d eigen() const {
    Eigen::Isometry3d m = Eigen::Isometry3d::Identity();
    if (orientation) m.linear() = orientation->eigen().normalized().toRotationMatrix();
    if (position) m.translation() = position->eigen();
    return m;
  }
  static Pose of(const Eigen::Isometry3d& m) {
    return {Vector3::of(m.translation()), Quaternion::of(Eigen::Quaterniond(m.linear()))};
  }
#endif
};

/// An image: foxglove.RawImage.
struct Image {
  static constexpr std::string_view type_name = "foxglove.RawImage";
  std::optional<Time> timestamp;
  std::string frame_id;
  std::uint32_t width = 0;   ///< px
  std::uint32_t height = 0;  ///< px
  std::string encoding;      ///< such as "rgb8", "mono16" or "32FC1"
  std::uint32_t step = 0;    ///< bytes from one row to the next
  Bytes data;

  bool operator==(const Image&) const = default;
  std::string to_payload() const;
  static Image from_payload(std::string_view bytes, const Sender* sender = nullptr);

  /// A row of pixels. Throws Error if the data does not hold it.
  std::span<const std::uint8_t> row(std::uint32_t y) const {
    if (y >= height || data.size() < std::size_t(step) * (std::size_t(y) + 1)) {
      throw Error("the image has no row " + std::to_string(y));
    }
    return std::span(data).subspan(std::size_t(step) * y, step);
  }
};

/// The element type of a field of a point cloud.
enum class NumericType : std::int32_t {
  UNKNOWN = 0, UINT8, INT8, UINT16, INT16, UINT32, INT32, FLOAT32, FLOAT64,
};

/// A field of the points of a cloud.
struct PackedElementField {
  static constexpr std::string_view type_name = "foxglove.PackedElementField";
  std::string name;
  std::uint32_t offset = 0;  ///< bytes from the beginning of a point
  NumericType type = NumericType::UNKNOWN;

  bool operator==(const PackedElementField&) const = default;
  std::string to_payload() const;
  static PackedElementField from_payload(std::string_view bytes, const Sender* sender = nullptr);
};

/// Points with their fields: foxglove.PointCloud.
struct PointCloud {
  static constexpr std::string_view type_name = "foxglove.PointCloud";
  std::optional<Time> timestamp;
  std::string frame_id;
  std::optional<Pose> pose;        ///< of the cloud's origin in the frame
  std::uint32_t point_stride = 0;  ///< bytes from one point to the next
  std::vector<PackedElementField> fields;
  Bytes data;

  bool operator==(const PointCloud&) const = default;
  std::string to_payload() const;
  static PointCloud from_payload(std::string_view bytes, const Sender* sender = nullptr);
};

}  // namespace engram::payload

#endif  // ENGRAM_PAYLOAD_HPP
