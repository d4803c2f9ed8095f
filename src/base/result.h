// Result<T>: the one return type of calls that can fail.
//
// An Error is written for the person who reads it: what failed, and what to do about it. Code that
// only wants to pass it on uses TRY; code that knows more adds it with context().
#pragma once

#include <cerrno>
#include <cstring>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace jobscope {

struct Error {
  std::string what;  // one line: what failed, where, and why
  std::string hint;  // what the person can do about it; may be empty
  int code = 0;      // errno of the failed call, 0 if there is none

  // The same error with `where` in front: "opening x: no such file".
  Error context(const std::string& where) const& { return {where + ": " + what, hint, code}; }
};

template <class T = void>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(std::string what, std::string hint = {}) {
  return tl::unexpected<Error>(Error{std::move(what), std::move(hint), 0});
}

// Failure of a system call: "what: strerror(code)".
inline tl::unexpected<Error> fail_errno(const std::string& what, int code = errno,
                                        std::string hint = {}) {
  return tl::unexpected<Error>(Error{what + ": " + std::strerror(code), std::move(hint), code});
}

}  // namespace jobscope

// Value of `expr`, or return its error from the enclosing function.
#define TRY(expr)                                                            \
  __extension__({                                                            \
    auto&& try_result_ = (expr);                                             \
    if (!try_result_) return tl::unexpected(std::move(try_result_).error()); \
    ::jobscope::detail::take(std::move(try_result_));                        \
  })

namespace jobscope::detail {
template <class T>
T take(Result<T>&& result) {
  return std::move(*result);
}
inline void take(Result<void>&&) {}
}  // namespace jobscope::detail
