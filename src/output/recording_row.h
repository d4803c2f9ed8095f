// One row of a recording, read with the suspicion that a file from elsewhere deserves.
#pragma once

#include <sqlite3.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "src/base/utf8.h"
#include "src/model/snapshot.h"
#include "src/output/json_report.h"
#include "src/output/recording_sqlite.h"

namespace jobscope {

// Reads the columns of the current row of a statement from left to right. The first value that
// jobscope would not have written is an error; what follows is then not read.
class Row {
 public:
  Row(sqlite3_stmt* statement, const char* table, int first = 0)
      : statement_(statement), table_(table), next_(first) {}

  template <std::integral T>
  void operator()(const char* column, T& value) {
    const int at = next(column);
    if (at < 0) return;
    if (sqlite3_column_type(statement_, at) != SQLITE_INTEGER) return refuse("not a number");
    const int64_t stored = sqlite3_column_int64(statement_, at);
    if (!std::in_range<T>(stored)) return refuse("out of range");
    value = static_cast<T>(stored);
  }

  void operator()(const char* column, bool& value) {
    uint8_t stored = 0;
    (*this)(column, stored);
    if (stored > 1) refuse("neither 0 nor 1");
    value = stored != 0;
  }

  void operator()(const char* column, double& value) {
    const int at = next(column);
    if (at < 0) return;
    const int type = sqlite3_column_type(statement_, at);
    if (type != SQLITE_FLOAT && type != SQLITE_INTEGER) return refuse("not a number");
    value = sqlite3_column_double(statement_, at);
    if (!std::isfinite(value) || value < 0) refuse("out of range");
  }

  void operator()(const char* column, std::string& value) {
    const int at = next(column);
    if (at < 0) return;
    const int type = sqlite3_column_type(statement_, at);
    if (type != SQLITE_TEXT && type != SQLITE_BLOB) return refuse("not a text");
    const void* data = sqlite3_column_blob(statement_, at);
    const int size = sqlite3_column_bytes(statement_, at);
    value.assign(static_cast<const char*>(data), data != nullptr ? static_cast<size_t>(size) : 0);
    if (type == SQLITE_TEXT && !valid_utf8(value)) refuse("not UTF-8");
  }

  template <class T>
  void operator()(const char* column, std::optional<T>& value) {
    if (sqlite3_column_type(statement_, next_) == SQLITE_NULL) {
      next(column);
      value.reset();
    } else {
      (*this)(column, value.emplace());
    }
  }

  void operator()(const char* column, Reason& reason) {
    std::string stored;
    (*this)(column, stored);
    const std::optional<Reason> known = reason_by_name(stored);
    if (known)
      reason = *known;
    else
      refuse("not a reason");
  }

  void operator()(const char* column, PeerClass& peer) {
    one_of(column, peer, {PeerClass::loopback, PeerClass::unix_socket, PeerClass::remote});
  }

  void operator()(const char* column, ProbeStatus::State& state) {
    using enum ProbeStatus::State;
    one_of(column, state, {ok, degraded, unavailable});
  }

  void operator()(const char* column, std::optional<Killer>& killer) {
    std::optional<uint32_t> pid;
    std::optional<std::string> name;
    (*this)(column, pid);
    (*this)(column, name);
    if (pid.has_value() != name.has_value()) return refuse("half unknown");
    if (pid) killer = Killer{*pid, std::move(*name)};
  }

  // Makes the row an error; the column is the last one read if it is not given.
  void refuse(const char* why, const char* column = nullptr) {
    if (error_.empty())
      error_ = std::string(table_) + "." + (column != nullptr ? column : column_) + " is " + why;
  }
  // "threads.pid is out of range"; empty if the row is good.
  const std::string& error() const { return error_; }

 private:
  // The position of the next column; -1 once there was an error.
  int next(const char* column) {
    if (!error_.empty()) return -1;
    column_ = column;
    return next_++;
  }

  template <class T>
  void one_of(const char* column, T& value, std::initializer_list<T> values) {
    std::string stored;
    (*this)(column, stored);
    for (const T candidate : values) {
      if (name(candidate) != stored) continue;
      value = candidate;
      return;
    }
    refuse("not a known name");
  }

  sqlite3_stmt* statement_;
  const char* table_;
  const char* column_ = "";
  int next_;
  std::string error_;
};

}  // namespace jobscope
