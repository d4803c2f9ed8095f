#include "src/http/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "src/http/message.h"

namespace jobscope {
namespace {

constexpr uint16_t kHttpPort = 80, kHttpsPort = 443;

}  // namespace

std::string Url::authority() const {
  const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return port == (tls ? kHttpsPort : kHttpPort) ? name : fmt::format("{}:{}", name, port);
}

Result<Url> parse_url(std::string_view text) {
  const auto wrong = [&](const char* why) {
    return fail(fmt::format("the address '{}' {}", text, why),
                "it looks like http://host:port/path or https://host/path");
  };
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) > 0x20 && c != 0x7f;
  });
  if (!plain) return fail("an address has a space or a control character in it");
  Url url;
  std::string_view rest = text;
  if (equal_without_case(rest.substr(0, 7), "http://")) {
    rest.remove_prefix(7);
  } else if (equal_without_case(rest.substr(0, 8), "https://")) {
    rest.remove_prefix(8);
    url.tls = true;
  } else {
    return wrong("begins with neither http:// nor https://");
  }
  rest = rest.substr(0, rest.find('#'));
  const size_t end = std::min(rest.find_first_of("/?"), rest.size());
  std::string_view authority = rest.substr(0, end);
  if (end == rest.size() || rest[end] == '?') url.target += '/';
  url.target += rest.substr(end);
  if (authority.find('@') != std::string_view::npos)
    return fail("an address must not have a user or password in it",
                "give them by the header Authorization");
  std::string_view port;
  if (authority.starts_with('[')) {
    const size_t close = authority.find(']');
    if (close == std::string_view::npos) return wrong("has a bracket that is not closed");
    url.host = std::string(authority.substr(1, close - 1));
    authority.remove_prefix(close + 1);
    if (!authority.empty() && authority.front() != ':') return wrong("has no valid host");
    port = authority.empty() ? "" : authority.substr(1);
  } else {
    const size_t colon = std::min(authority.find(':'), authority.size());
    url.host = std::string(authority.substr(0, colon));
    port = colon == authority.size() ? "" : authority.substr(colon + 1);
  }
  if (url.host.empty()) return wrong("has no host");
  url.port = url.tls ? kHttpsPort : kHttpPort;
  if (port.empty()) return url;
  const auto [last, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
  if (error != std::errc() || last != port.data() + port.size() || url.port == 0)
    return wrong("has no valid port");
  return url;
}

}  // namespace jobscope
