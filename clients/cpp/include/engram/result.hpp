// Errors, and results that are a value or one.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace engram {

/// The codes of errors, numbered as docs/formats/local.md does.
enum class Code : std::uint8_t {
  internal = 1, invalid, not_found, already_exists, type_mismatch, out_of_range, too_old, too_new,
  conflict, unavailable, exhausted, corrupt, canceled, unsupported, forbidden,
};

/// The code's name, such as "type mismatch".
std::string_view to_string(Code code);
/// The code of a name; internal if there is none.
Code code_of(std::string_view name);

/// A refusal or failure: what it is about, and what to do.
class Error : public std::exception {
 public:
  Error(Code code, std::string thing, std::string message)
      : code(code), thing(std::move(thing)), message(std::move(message)),
        what_(this->thing.empty() ? this->message : this->thing + ": " + this->message) {}

  const char* what() const noexcept override { return what_.c_str(); }

  Code code;
  std::string thing;
  std::string message;

 private:
  std::string what_;
};

/// A T, or why there is none. Whoever looks first (if (result)) sees no exception; the value of
/// a result that has none throws its error.
template <class T, class E = Error>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  template <class U = T>
    requires(std::is_convertible_v<U &&, T> && !std::is_convertible_v<U &&, E>)
  Result(U&& value) : is_(std::in_place_index<0>, std::forward<U>(value)) {}
  template <class U>
    requires std::is_convertible_v<U&&, E>
  Result(U&& error) : is_(std::in_place_index<1>, std::forward<U>(error)) {}

  bool has_value() const noexcept { return is_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  T& value() & { return checked(*this); }
  const T& value() const& { return checked(*this); }
  T value() && { return std::move(checked(*this)); }  // of its own, so that a loop over it is safe
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  template <class U>
  T value_or(U&& other) const& {
    return has_value() ? std::get<0>(is_) : static_cast<T>(std::forward<U>(other));
  }

  /// The error; there must be one.
  const E& error() const { return std::get<1>(is_); }

 private:
  template <class Self>
  static auto& checked(Self& self) {
    if (auto* error = std::get_if<1>(&self.is_)) throw *error;
    return *std::get_if<0>(&self.is_);
  }

  std::variant<T, E> is_;
};

template <class E>
class [[nodiscard]] Result<void, E> {
 public:
  Result() = default;
  template <class U>
    requires std::is_convertible_v<U&&, E>
  Result(U&& error) : error_(std::in_place_index<1>, std::forward<U>(error)) {}

  bool has_value() const noexcept { return error_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }
  /// Throws the error, if there is one.
  void value() const {
    if (auto* error = std::get_if<1>(&error_)) throw *error;
  }
  const E& error() const { return std::get<1>(error_); }

 private:
  std::variant<std::monostate, E> error_;
};

}  // namespace engram
