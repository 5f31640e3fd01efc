// How an operation says that it failed. A failed *candidate* is not a Status but a Failure inside
// its Trial (attune/trial/trial.h), and a bug is an assert.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace attune {

enum class StatusCode {
  kOk,
  kInvalidArgument,     // The caller's value is wrong; retrying the same call cannot help.
  kNotFound,            // The named thing does not exist.
  kUnsupported,         // The thing exists, but this build, device or library cannot do it.
  kUnavailable,         // A resource (library, driver, database) cannot be reached now.
  kFailedPrecondition,  // The system's state forbids it (schema too new, wrong target).
  kResourceExhausted,   // Memory, disk or a limit of attune ran out.
  kDeadlineExceeded,    // The time allowed ran out.
  kDataLoss,            // Stored bytes are damaged or malformed.
  kInternal,            // A library reported an error that we cannot class.
};

// The stable lower-case name of a code ("invalid_argument"), for logs and JSON.
std::string_view StatusCodeName(StatusCode code);

// Success, or a code with a sentence that names the action, the value, the limit and the next step.
// Cheap to move; a default-constructed Status is success.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status Ok() { return Status(); }

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // "invalid_argument: <message>", or "ok".
  std::string ToString() const;

  // The same code with `context` and ": " put before the message; success stays success.
  Status WithContext(std::string_view context) const;

  friend bool operator==(const Status&, const Status&) = default;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

Status InvalidArgument(std::string message);
Status NotFound(std::string message);
Status Unsupported(std::string message);
Status Unavailable(std::string message);
Status FailedPrecondition(std::string message);
Status ResourceExhausted(std::string message);
Status DeadlineExceeded(std::string message);
Status DataLoss(std::string message);
Status Internal(std::string message);

// A value or the Status that says why there is none. tl::expected's interface: has_value(),
// operator*, operator->, error(). Built from a T or from a Status that is not ok.
template <class T>
class [[nodiscard]] Result : public tl::expected<T, Status> {
 public:
  using Base = tl::expected<T, Status>;
  using Base::Base;
  Result(Status status) : Base(tl::unexpect, std::move(status)) {}  // NOLINT: implicit on purpose

  bool ok() const { return this->has_value(); }
  // The failure, or Ok.
  Status status() const { return ok() ? Status() : this->error(); }
};

}  // namespace attune

// Leaves the enclosing function with the Status of `expression` if it failed.
#define ATTUNE_RETURN_IF_ERROR(expression)                                    \
  do {                                                                        \
    if (::attune::Status attune_status_ = (expression); !attune_status_.ok()) \
      return attune_status_;                                                  \
  } while (false)

#define ATTUNE_CONCAT_INNER_(a, b) a##b
#define ATTUNE_CONCAT_(a, b) ATTUNE_CONCAT_INNER_(a, b)
#define ATTUNE_ASSIGN_OR_RETURN_(temp, declaration, expression) \
  auto temp = (expression);                                     \
  if (!temp.ok()) return temp.error();                          \
  declaration = std::move(*temp)

// `ATTUNE_ASSIGN_OR_RETURN(auto x, F());` declares x from a Result, or leaves with its Status.
#define ATTUNE_ASSIGN_OR_RETURN(declaration, expression) \
  ATTUNE_ASSIGN_OR_RETURN_(ATTUNE_CONCAT_(attune_result_, __LINE__), declaration, expression)
