#include "src/http/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "src/base/text.h"
#include "src/http/message.h"

namespace jobscope {
namespace {

constexpr int kGzipWindow = 15 + 16;  // the largest window; 16: with gzip's header and trailer
constexpr int kMemory = 8;            // zlib's default

// zlib takes input in pieces that an unsigned int can count.
void give_input(z_stream& stream, std::string_view& bytes) {
  const size_t piece = std::min<size_t>(bytes.size(), 1U << 30);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(piece);
  bytes.remove_prefix(piece);
}

}  // namespace

bool accepts_gzip(std::string_view accept_encoding) {
  std::optional<double> gzip, any, identity;
  while (!accept_encoding.empty()) {
    std::string_view range = take_until(accept_encoding, ',');
    const std::string_view coding = take_until(range, ';');
    double weight = 1;
    while (!range.empty()) {
      std::string_view parameter = take_until(range, ';');
      const std::string_view name = take_until(parameter, '=');
      if (!equal_without_case(name, "q")) continue;
      const auto [end, error] =
          std::from_chars(parameter.data(), parameter.data() + parameter.size(), weight);
      if (error != std::errc() || !(weight >= 0)) weight = 0;
    }
    if (equal_without_case(coding, "gzip") || equal_without_case(coding, "x-gzip")) gzip = weight;
    if (equal_without_case(coding, "identity")) identity = weight;
    if (coding == "*") any = weight;
  }
  const double wanted = gzip.value_or(any.value_or(0));
  return wanted > 0 && wanted >= identity.value_or(0);
}

Result<std::string> gzip(std::string_view bytes, int level) {
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, kGzipWindow, kMemory, Z_DEFAULT_STRATEGY) != Z_OK)
    return fail("gzip: no memory");
  std::string out(std::max<size_t>(bytes.size() / 4, 1024), '\0');
  size_t made = 0;
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    if (stream.avail_in == 0) give_input(stream, bytes);
    if (made == out.size()) out.resize(out.size() * 2);
    const size_t room = std::min<size_t>(out.size() - made, 1U << 30);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + made);
    stream.avail_out = static_cast<uInt>(room);
    state = deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
    made += room - stream.avail_out;
    if (state == Z_STREAM_ERROR) break;
  }
  deflateEnd(&stream);
  if (state != Z_STREAM_END) return fail("gzip: failed");
  out.resize(made);
  return out;
}

Result<std::string> gunzip(std::string_view bytes, size_t most) {
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) return fail("gunzip: no memory");
  std::string out;
  char piece[16384];
  int state = Z_OK;
  while (state == Z_OK && out.size() <= most) {
    if (stream.avail_in == 0 && bytes.empty()) break;
    if (stream.avail_in == 0) give_input(stream, bytes);
    stream.next_out = reinterpret_cast<Bytef*>(piece);
    stream.avail_out = sizeof(piece);
    state = inflate(&stream, Z_NO_FLUSH);
    out.append(piece, sizeof(piece) - stream.avail_out);
  }
  inflateEnd(&stream);
  if (out.size() > most) return fail("gunzip: too large");
  if (state != Z_STREAM_END) return fail("gunzip: this is no whole gzip file");
  return out;
}

}  // namespace jobscope
