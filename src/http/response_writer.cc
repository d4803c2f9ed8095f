#include "src/http/response_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/http/gzip.h"

namespace jobscope {
namespace {

bool worth_packing(std::string_view type) {
  if (type.starts_with("text/")) return true;
  for (const std::string_view part : {"json", "xml", "javascript", "openmetrics"})
    if (type.find(part) != std::string_view::npos) return true;
  return false;
}

void append_header(std::string& out, std::string_view name, std::string_view value) {
  const auto append = [&](std::string_view text) {
    for (const char c : text) {
      const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
      out += control ? ' ' : c;
    }
  };
  append(name);
  out += ": ";
  append(value);
  out += "\r\n";
}

// RFC 9110, 5.6.7; not by strftime, which speaks the language of the locale.
std::string http_date(std::time_t now) {
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm t{};
  ::gmtime_r(&now, &t);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[t.tm_wday], t.tm_mday,
                     kMonths[t.tm_mon], t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
}

}  // namespace

bool may_have_body(int status) { return status >= 200 && status != 204 && status != 304; }

void compress_response(HttpResponse& response, std::string_view accept_encoding, size_t from,
                       int level) {
  if (response.body.size() < from || !may_have_body(response.status) ||
      !worth_packing(response.content_type) ||
      !find_header(response.headers, "Content-Encoding").empty())
    return;
  response.headers.emplace_back("Vary", "Accept-Encoding");
  if (!accepts_gzip(accept_encoding)) return;
  auto packed = gzip(response.body, level);
  if (!packed || packed->size() >= response.body.size()) return;
  response.body = std::move(*packed);
  response.headers.emplace_back("Content-Encoding", "gzip");
}

std::string response_head(const HttpResponse& response, const HeadOptions& options) {
  const int status = std::clamp(response.status, 100, 999);
  std::string out = fmt::format("HTTP/1.1 {} {}\r\n", status, reason_phrase(status));
  append_header(out, "Date", http_date(options.now));
  if (may_have_body(status)) {
    if (!response.content_type.empty()) append_header(out, "Content-Type", response.content_type);
    append_header(out, "Content-Length", std::to_string(response.body.size()));
  }
  for (const auto& [name, value] : response.headers) append_header(out, name, value);
  if (options.more)
    for (const auto& [name, value] : *options.more) append_header(out, name, value);
  if (!options.keep_alive)
    append_header(out, "Connection", "close");
  else if (options.old_client)
    append_header(out, "Connection", "keep-alive");
  out += "\r\n";
  return out;
}

}  // namespace jobscope
