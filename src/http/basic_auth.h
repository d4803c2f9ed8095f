// Names and passwords, as HTTP's basic authentication has them (RFC 7617).
#pragma once

#include <array>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/result.h"

namespace jobscope {

// Whether crypt(3) can check passwords against this bcrypt hash ($2a$, $2b$, $2y$).
Result<> check_bcrypt_hash(const std::string& hash);

// For use from several threads at once. Passwords that were right are remembered, as salted hashes,
// until the object goes; so only the first request of a client costs a bcrypt.
class BasicAuth {
 public:
  // Hashes by user; all passed check_bcrypt_hash().
  explicit BasicAuth(std::map<std::string, std::string> users);

  bool required() const { return !users_.empty(); }
  // The answer for an Authorization header, if it takes no bcrypt: empty otherwise.
  std::optional<bool> check_quickly(std::string_view authorization) const;
  // With bcrypt: a fraction of a second or more. An unknown user takes as long as a known one.
  bool check(std::string_view authorization);

 private:
  using Digest = std::array<unsigned char, 32>;
  struct Credentials {
    std::string user, password;
  };
  static std::optional<Credentials> decode(std::string_view authorization);
  Digest digest(const Credentials& credentials) const;

  std::map<std::string, std::string> users_;
  std::string nobody_;  // hash for unknown users: of the highest cost that is in use
  std::array<unsigned char, 32> salt_{};
  mutable std::mutex mutex_;
  std::deque<Digest> right_;  // bounded; the oldest goes first
};

}  // namespace jobscope
