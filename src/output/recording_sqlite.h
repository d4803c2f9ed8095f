// SQLite as recordings use it: owned handles, and errors for the person who reads them.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "src/base/result.h"

namespace jobscope {

// SQLite opens no path of 512 bytes or more, and does not say why. The file exists.
Result<> check_path_length(const std::string& path, const std::string& action);

// A prepared statement. Parameters are bound from left to right; a value bound must live until the
// next step(). Texts that are not UTF-8, or hold a 0, are bound as BLOB: kept byte for byte.
class Statement {
 public:
  void bind(int64_t value);
  // Values above 2^63-1, which no real count reaches, become 2^63-1: SQLite has no larger ones.
  void bind(uint64_t value);
  void bind(double value);
  void bind(std::string_view value);
  void bind_null();
  template <class T>
  void bind(const std::optional<T>& value) {
    value ? bind(*value) : bind_null();
  }
  void bind(int value) { bind(int64_t{value}); }
  void bind(bool value) { bind(int64_t{value}); }
  void bind(uint32_t value) { bind(int64_t{value}); }
  void bind(const std::string& value) { bind(std::string_view(value)); }
  void bind(const char*) = delete;

  // Runs a statement that gives no rows; it can then be bound anew.
  Result<> run();
  // Moves to the next row; false: there is none.
  Result<bool> step();
  sqlite3_stmt* get() const { return statement_.get(); }

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  Statement(sqlite3_stmt* statement, std::string action)
      : statement_(statement), action_(std::move(action)) {}
  void keep(int rc);

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::string action_;
  int next_ = 1;        // parameter to bind
  int rc_ = SQLITE_OK;  // first failed bind; step() reports it
};

class Database {
 public:
  // `name` is a file name or, with SQLITE_OPEN_URI, a URI; `vfs` may be null. Errors begin with
  // `action`, such as "cannot write x".
  static Result<Database> open(const std::string& name, int flags, const char* vfs,
                               std::string action);

  // Runs statements that give no rows of interest.
  Result<> run(const std::string& sql);
  Result<Statement> prepare(const std::string& sql);
  sqlite3* get() const { return database_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
  };
  Database(sqlite3* database, std::string action)
      : database_(database), action_(std::move(action)) {}

  std::unique_ptr<sqlite3, Close> database_;
  std::string action_;
};

}  // namespace jobscope
