#include "src/http/basic_auth.h"

#include <crypt.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <memory>

#include "src/http/message.h"

namespace jobscope {
namespace {

constexpr size_t kRemembered = 128;
constexpr size_t kHashBytes = 60;
constexpr size_t kPrefixBytes = 7;      // "$2y$10$"
constexpr int kHighestCost = 20;        // each step doubles the time: this is a minute
constexpr std::string_view kAlphabet =  // bcrypt's base64
    "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

int cost_of(const std::string& hash) { return (hash[4] - '0') * 10 + (hash[5] - '0'); }

// crypt(3) by a buffer of its own; "" if it failed.
std::string crypted(const std::string& password, const std::string& hash) {
  const auto data = std::make_unique<crypt_data>();
  const char* result = ::crypt_r(password.c_str(), hash.c_str(), data.get());
  std::string text = result ? result : "";
  OPENSSL_cleanse(data.get(), sizeof(*data));
  return text;
}

}  // namespace

Result<> check_bcrypt_hash(const std::string& hash) {
  const auto digit = [&](size_t at) { return hash[at] >= '0' && hash[at] <= '9'; };
  const bool prefix = hash.size() == kHashBytes && hash.starts_with("$2") &&
                      std::string_view("aby").find(hash[2]) != std::string_view::npos &&
                      hash[3] == '$' && digit(4) && digit(5) && hash[6] == '$';
  if (!prefix || hash.find_first_not_of(kAlphabet, kPrefixBytes) != std::string::npos)
    return fail("this is no bcrypt hash", "make one with: htpasswd -nBC 10 \"\" | tr -d ':\\n'");
  if (cost_of(hash) < 4 || cost_of(hash) > kHighestCost)
    return fail("a bcrypt cost of " + std::to_string(cost_of(hash)) + " is outside 4 to " +
                    std::to_string(kHighestCost),
                "10 is usual");
  return {};
}

BasicAuth::BasicAuth(std::map<std::string, std::string> users) : users_(std::move(users)) {
  RAND_bytes(salt_.data(), static_cast<int>(salt_.size()));
  for (const auto& [user, hash] : users_)
    if (nobody_.empty() || cost_of(hash) > cost_of(nobody_)) nobody_ = hash;
}

std::optional<BasicAuth::Credentials> BasicAuth::decode(std::string_view authorization) {
  constexpr std::string_view kScheme = "Basic ";
  if (!equal_without_case(authorization.substr(0, kScheme.size()), kScheme)) return std::nullopt;
  authorization.remove_prefix(kScheme.size());
  while (authorization.starts_with(' ')) authorization.remove_prefix(1);
  const size_t padding =
      authorization.ends_with("==") ? 2 : static_cast<size_t>(authorization.ends_with('='));
  if (authorization.empty() || authorization.size() % 4 != 0) return std::nullopt;
  std::string text(authorization.size() / 4 * 3, '\0');
  const int bytes = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                    reinterpret_cast<const unsigned char*>(authorization.data()),
                                    static_cast<int>(authorization.size()));
  if (bytes < static_cast<int>(padding)) return std::nullopt;
  text.resize(static_cast<size_t>(bytes) - padding);
  const size_t colon = text.find(':');
  // crypt(3) would stop at a zero byte, and so take other passwords for the right one.
  if (colon == std::string::npos || text.find('\0') != std::string::npos) return std::nullopt;
  return Credentials{text.substr(0, colon), text.substr(colon + 1)};
}

BasicAuth::Digest BasicAuth::digest(const Credentials& credentials) const {
  std::string text(reinterpret_cast<const char*>(salt_.data()), salt_.size());
  text += credentials.user;
  text += '\0';
  text += credentials.password;
  Digest result{};
  EVP_Digest(text.data(), text.size(), result.data(), nullptr, EVP_sha256(), nullptr);
  OPENSSL_cleanse(text.data(), text.size());
  return result;
}

std::optional<bool> BasicAuth::check_quickly(std::string_view authorization) const {
  if (!required()) return true;
  const auto credentials = decode(authorization);
  if (!credentials) return false;
  const Digest asked = digest(*credentials);
  const std::lock_guard lock(mutex_);
  for (const Digest& right : right_)
    if (CRYPTO_memcmp(right.data(), asked.data(), asked.size()) == 0) return true;
  return std::nullopt;
}

bool BasicAuth::check(std::string_view authorization) {
  if (const auto known = check_quickly(authorization)) return *known;
  const auto credentials = decode(authorization);
  if (!credentials) return false;
  const auto user = users_.find(credentials->user);
  const std::string& hash = user == users_.end() ? nobody_ : user->second;
  const std::string made = crypted(credentials->password, hash);
  const bool equal =
      made.size() == hash.size() && CRYPTO_memcmp(made.data(), hash.data(), hash.size()) == 0;
  if (!equal || user == users_.end()) return false;
  const std::lock_guard lock(mutex_);
  right_.push_back(digest(*credentials));
  if (right_.size() > kRemembered) right_.pop_front();
  return true;
}

}  // namespace jobscope
