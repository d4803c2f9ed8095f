// Requests and responses of HTTP, as handlers and callers see them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace jobscope {

// Names and values in the order in which they were sent. Names are compared without case.
using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// The value of a header; several of one name are joined by ", ". "" if there is none.
std::string find_header(const HttpHeaders& headers, std::string_view name);

bool equal_without_case(std::string_view a, std::string_view b);

struct HttpRequest {
  std::string method;  // "GET"; HEAD reaches a handler as GET
  std::string path;    // decoded: "/metrics"
  std::string query;   // what follows '?', as it was sent
  HttpHeaders headers;
  std::string body;

  std::string header(std::string_view name) const { return find_header(headers, name); }
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  // More headers. Content-Length, Connection, Date, Vary and the like are the server's.
  HttpHeaders headers;
};

// "OK" for 200; "Unknown" for what no list has.
std::string_view reason_phrase(int status);

// A response of one line of plain text.
HttpResponse plain_response(int status, std::string text);

}  // namespace jobscope
