#include "src/trace/tracefs.h"

#include <fmt/format.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "src/trace/figures.h"

namespace jobscope {
namespace {

std::string_view value_of(std::string_view line, std::string_view key) {
  const size_t at = line.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + key.size());
  return rest.substr(0, rest.find(';'));
}

uint32_t number(std::string_view text) {
  return static_cast<uint32_t>(std::strtoul(std::string(text).c_str(), nullptr, 10));
}

// "	field:__data_loc char[] name;	offset:8;	size:4;	signed:0;"
bool parse_field(std::string_view line, TracepointField& field) {
  std::string declaration(value_of(line, "field:"));
  if (declaration.empty()) return false;
  const bool data_loc = declaration.starts_with("__data_loc ");
  field.relative = declaration.starts_with("__rel_loc ");
  const bool array = declaration.find('[') != std::string::npos;
  if (!data_loc && !field.relative)  // "char comm[16]": the name is before the bracket
    declaration.erase(std::min(declaration.find('['), declaration.size()));
  const size_t last = declaration.find_last_of(" *");
  field.name = last == std::string::npos ? declaration : declaration.substr(last + 1);
  field.offset = number(value_of(line, "offset:"));
  field.size = number(value_of(line, "size:"));
  field.is_signed = number(value_of(line, "signed:")) != 0;
  const bool chars = declaration.find("char") != std::string::npos &&
                     declaration.find("unsigned char") == std::string::npos;
  using Kind = TracepointField::Kind;
  const bool usual = field.size == 1 || field.size == 2 || field.size == 4 || field.size == 8;
  if (data_loc || field.relative)
    field.kind = chars ? Kind::dynamic_text : Kind::dynamic_bytes;
  else if (array)
    field.kind = chars ? Kind::text : Kind::bytes;
  else
    field.kind = usual ? Kind::number : Kind::bytes;
  return !field.name.empty();
}

// The part of the record that a field means.
std::string_view part_of(const TracepointField& field, std::string_view record) {
  using Kind = TracepointField::Kind;
  if (field.offset + uint64_t{field.size} > record.size()) return {};
  if (field.kind != Kind::dynamic_text && field.kind != Kind::dynamic_bytes)
    return record.substr(field.offset, field.size);
  uint32_t where = 0;
  std::memcpy(&where, record.data() + field.offset, sizeof(where));
  const uint64_t start = (where & 0xFFFF) + (field.relative ? field.offset + field.size : 0);
  if (start >= record.size()) return {};
  return record.substr(start, where >> 16);
}

std::vector<std::string> folders(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path, error))
    if (entry.is_directory(error)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

std::string did_you_mean(const std::vector<std::string>& near, const std::string& otherwise) {
  if (near.empty()) return otherwise;
  return fmt::format("did you mean {}?", fmt::join(near, ", "));
}

}  // namespace

Result<TracepointFormat> parse_format(std::string_view text) {
  TracepointFormat format;
  bool has_fields = false;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.starts_with("name: ")) format.name = line.substr(6);
    TracepointField field;
    if (!parse_field(line, field)) continue;
    has_fields = true;
    format.size = std::max(format.size, field.offset + field.size);
    if (!field.name.starts_with("common_")) format.fields.push_back(std::move(field));
  }
  if (!has_fields) return fail("this is no description of a tracepoint");
  return format;
}

Result<std::string> find_tracefs() {
  for (const char* path : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"})
    if (::access((std::string(path) + "/events").c_str(), R_OK) == 0) return std::string(path);
  const std::string path = "/sys/kernel/tracing";
  if (::mount("tracefs", path.c_str(), "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0)
    return path;
  return fail_errno("tracefs, which describes the tracepoints, is not mounted", errno,
                    "as root: mount -t tracefs tracefs " + path);
}

Result<TracepointFormat> read_format(const std::string& tracefs, const std::string& tracepoint) {
  const size_t colon = tracepoint.find(':');
  const std::string system = tracepoint.substr(0, colon);
  const std::string name = colon == std::string::npos ? "" : tracepoint.substr(colon + 1);
  const std::string events = tracefs + "/events";
  if (system.empty() || name.empty() || tracepoint.find('/') != std::string::npos)
    return fail("'" + tracepoint + "' does not name a tracepoint",
                "write it as tracepoint:block:block_rq_issue");
  std::ifstream file(events + "/" + system + "/" + name + "/format");
  if (file) {
    std::stringstream text;
    text << file.rdbuf();
    TracepointFormat format = TRY(parse_format(text.str()));
    format.system = system;
    format.name = name;
    return format;
  }
  const auto systems = folders(events);
  if (!std::ranges::binary_search(systems, system))
    return fail("the kernel has no group of tracepoints '" + system + "'",
                did_you_mean(nearest_names(system, systems), "see " + events));
  return fail("the kernel has no tracepoint '" + tracepoint + "'",
              did_you_mean(nearest_names(name, folders(events + "/" + system)),
                           "see " + events + "/" + system));
}

bool field_number(const TracepointField& field, std::string_view record, int64_t& value) {
  if (field.kind != TracepointField::Kind::number) return false;
  const std::string_view part = part_of(field, record);
  if (part.empty()) return false;
  uint64_t bits = 0;
  std::memcpy(&bits, part.data(), part.size());
  if (field.is_signed && part.size() < 8 && bits >> (part.size() * 8 - 1))
    bits |= ~uint64_t{0} << (part.size() * 8);
  value = static_cast<int64_t>(bits);
  return true;
}

std::string field_text(const TracepointField& field, std::string_view record) {
  using Kind = TracepointField::Kind;
  int64_t value = 0;
  if (field_number(field, record, value))
    return field.is_signed ? std::to_string(value) : std::to_string(static_cast<uint64_t>(value));
  const std::string_view part = part_of(field, record);
  if (field.kind == Kind::text || field.kind == Kind::dynamic_text)
    return std::string(part.substr(0, part.find('\0')));
  std::string text;
  for (const char byte : part) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

}  // namespace jobscope
