#include "src/trace/uprobe_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace jobscope {
namespace {

using Type = UprobeArgument::Type;
using ::testing::HasSubstr;

TEST(UprobeSpec, has_library_function_and_arguments) {
  const auto spec = parse_uprobe("uprobe:/opt/my lib/libx.so:step( size: u64,name :str )");
  ASSERT_TRUE(spec) << spec.error().what;
  EXPECT_FALSE(spec->at_return);
  EXPECT_EQ(spec->library, "/opt/my lib/libx.so");
  EXPECT_EQ(spec->symbol, "step");
  ASSERT_EQ(spec->arguments.size(), 2u);
  EXPECT_EQ(spec->arguments[0].name, "size");
  EXPECT_EQ(spec->arguments[0].type, Type::u64);
  EXPECT_EQ(spec->arguments[1].type, Type::str);
}

TEST(UprobeSpec, needs_no_arguments) {
  for (const char* text : {"uprobe:libc:getppid", "uprobe:libc:getppid()"})
    EXPECT_TRUE(parse_uprobe(text)->arguments.empty()) << text;
  EXPECT_TRUE(parse_uprobe("uretprobe:libc:getppid(retval: i32)")->at_return);
}

TEST(UprobeSpec, refuses_what_is_none) {
  for (const char* text :
       {"uprobe:", "uprobe:libc", "uprobe:libc:", "uprobe::f", "uprobe:libc:f(", "uprobe:libc:f(a)",
        "uprobe:libc:f(a:)", "uprobe:libc:f(:u8)", "uprobe:libc:f(1a: u8)", "uprobe:libc:f(a: u7)",
        "uprobe:libc:f(a: u8, a: u8)", "uretprobe:libc:f(a: u8, b: u8)", "usdt:a:b"})
    EXPECT_FALSE(parse_uprobe(text)) << text;
  EXPECT_THAT(parse_uprobe("uprobe:libc:f(a: float)").error().hint, HasSubstr("str"));
}

TEST(UprobeSpec, bounds_arguments_and_strings) {
  std::string numbers = "a0: u8", strings = "a0: str";
  for (int i = 1; i < 12; ++i) numbers += ", a" + std::to_string(i) + ": u8";
  for (int i = 1; i < 6; ++i) strings += ", a" + std::to_string(i) + ": str";
  EXPECT_TRUE(parse_uprobe("uprobe:c:f(" + numbers + ")"));
  EXPECT_TRUE(parse_uprobe("uprobe:c:f(" + strings + ")"));
  EXPECT_FALSE(parse_uprobe("uprobe:c:f(" + numbers + ", z: u8)"));
  EXPECT_FALSE(parse_uprobe("uprobe:c:f(" + strings + ", z: str)"));
}

TEST(UprobeSpec, knows_where_arguments_lie) {
  const auto spec = parse_uprobe(
      "uprobe:c:f(a: u8, b: str, c: u8, d: u8, e: u8, f: u8, g: u8, h: u8, i: u8, j: str)");
  const auto places = places_of(*spec);
  EXPECT_EQ(places[0].place, UPROBE_REGISTER);
  EXPECT_EQ(places[1].text, 1);
  EXPECT_EQ(places[5].index, 5);
  EXPECT_EQ(places[9].place, UPROBE_STACK);
  EXPECT_EQ(places[9].text, 2);
#if defined(__x86_64__)
  EXPECT_EQ(places[6].place, UPROBE_STACK);
  EXPECT_EQ(places[6].index, 8);
  EXPECT_EQ(places[7].index, 16);
#else
  EXPECT_EQ(places[7].place, UPROBE_REGISTER);
  EXPECT_EQ(places[8].index, 0);
#endif
  EXPECT_EQ(places_of(*parse_uprobe("uretprobe:c:f(x: u8)"))[0].place, UPROBE_RETURN);
}

TEST(UprobeSpec, cuts_values_to_their_type) {
  EXPECT_EQ(argument_text(Type::u8, 0x1FF), "255");
  EXPECT_EQ(argument_text(Type::i8, 0xFF), "-1");
  EXPECT_EQ(argument_text(Type::i32, 0xFFFFFFF9), "-7");
  EXPECT_EQ(argument_text(Type::u32, 0x1FFFFFFFFull), "4294967295");
  EXPECT_EQ(argument_text(Type::i64, ~0ull), "-1");
  EXPECT_EQ(argument_text(Type::u64, ~0ull), "18446744073709551615");
  EXPECT_EQ(argument_text(Type::hex, 4096), "0x1000");
}

void put(std::string& bytes, size_t at, uint32_t word) {
  std::memcpy(bytes.data() + at, &word, sizeof(word));
}

TEST(LoaderCache, gives_names_and_paths) {
  std::string cache(48 + 24, '\0');
  cache.replace(0, 20, "glibc-ld.so.cache1.1");
  put(cache, 20, 1);
  put(cache, 48 + 4, static_cast<uint32_t>(cache.size()));
  cache += std::string("libx.so.1") + '\0';
  put(cache, 48 + 8, static_cast<uint32_t>(cache.size()));
  cache += std::string("/usr/lib/libx.so.1") + '\0';
  const auto libraries = read_loader_cache("ld.so-1.7.0 of before" + cache);
  ASSERT_EQ(libraries.size(), 1u);
  EXPECT_EQ(libraries[0].first, "libx.so.1");
  EXPECT_EQ(libraries[0].second, "/usr/lib/libx.so.1");
}

TEST(LoaderCache, survives_what_is_none) {
  EXPECT_TRUE(read_loader_cache("").empty());
  std::string cut(30, '\0');
  cut.replace(0, 20, "glibc-ld.so.cache1.1");
  put(cut, 20, 0xFFFFFFFF);
  EXPECT_TRUE(read_loader_cache(cut).empty());
}

}  // namespace
}  // namespace jobscope
