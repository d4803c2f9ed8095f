#include "src/http/message.h"

#include <algorithm>

namespace jobscope {

bool equal_without_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

std::string find_header(const HttpHeaders& headers, std::string_view name) {
  std::string found;
  bool first = true;
  for (const auto& [key, value] : headers) {
    if (!equal_without_case(key, name)) continue;
    if (!first) found += ", ";
    found += value;
    first = false;
  }
  return found;
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    default: return "Unknown";
  }
}

HttpResponse plain_response(int status, std::string text) {
  HttpResponse response;
  response.status = status;
  response.body = std::move(text);
  response.body += '\n';
  return response;
}

}  // namespace jobscope
