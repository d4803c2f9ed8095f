#include "src/programs/sections.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

namespace jobscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// An object of our own build, with the sections of src/bpf/program_types.bpf.c.
std::string object() {
  std::ifstream file(JOBSCOPE_BPF_OBJECT, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Sections, alternatives_are_parted_by_bars) {
  EXPECT_THAT(section_alternatives("fentry/x | kprobe/x|tp_btf/y"),
              ElementsAre("fentry/x", "kprobe/x", "tp_btf/y"));
  EXPECT_THAT(section_alternatives("kprobe/x"), ElementsAre("kprobe/x"));
  EXPECT_THAT(section_alternatives(" | "), ElementsAre());
}

TEST(Sections, are_renamed_in_the_file) {
  std::string bytes = object();
  ASSERT_FALSE(bytes.empty());
  EXPECT_THAT(*sections_with_alternatives(bytes), ElementsAre());
  ASSERT_TRUE(rename_section(bytes, "license", "a|b"));
  EXPECT_THAT(*sections_with_alternatives(bytes), ElementsAre("a|b"));
  EXPECT_THAT(rename_section(bytes, "a|b", "longer than that").error().what, HasSubstr("longer"));
}

TEST(Sections, of_what_is_no_object) {
  EXPECT_THAT(sections_with_alternatives("").error().what, HasSubstr("no ELF file"));
  EXPECT_THAT(sections_with_alternatives("#!/bin/sh\n").error().what, HasSubstr("no ELF file"));
  std::ifstream self("/proc/self/exe", std::ios::binary);
  const std::string program{std::istreambuf_iterator<char>(self), {}};
  EXPECT_THAT(sections_with_alternatives(program).error().what,
              HasSubstr("no object of eBPF programs"));
}

TEST(Sections, cut_or_changed_objects_do_no_harm) {
  const std::string whole = object();
  for (size_t size = 0; size < whole.size(); size += 7)
    (void)sections_with_alternatives(whole.substr(0, size));
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0xff);
    if (i < 64 || i + 2048 > whole.size() || i % 17 == 0) {
      (void)sections_with_alternatives(changed);
      (void)rename_section(changed, "license", "x");
    }
  }
}

TEST(BinarySection, names_a_file_and_a_place_in_it) {
  const BinarySection uprobe = binary_section("uprobe/libc.so.6:malloc+4");
  EXPECT_EQ(uprobe.kind, "uprobe");
  EXPECT_EQ(uprobe.binary, "libc.so.6");
  EXPECT_EQ(uprobe.rest, "malloc+4");
  const BinarySection usdt = binary_section("usdt//usr/bin/python3:python:gc__start");
  EXPECT_EQ(usdt.binary, "/usr/bin/python3");
  EXPECT_EQ(usdt.rest, "python:gc__start");
  EXPECT_EQ(binary_section("kprobe/do_exit").kind, "");
  EXPECT_EQ(binary_section("uprobe").kind, "");
}

TEST(PerfEventSection, says_what_to_sample) {
  const auto event = perf_event_section("perf_event/type=1,config=0,frequency=99");
  ASSERT_TRUE(event) << event.error().what;
  EXPECT_EQ(event->type, 1u);
  EXPECT_EQ(event->frequency, 99u);
  EXPECT_THAT(perf_event_section("perf_event/type=1").error().what, HasSubstr("no frequency"));
  EXPECT_THAT(perf_event_section("perf_event/rate=1").error().what, HasSubstr("has 'rate'"));
  EXPECT_THAT(perf_event_section("perf_event/type=x").error().what, HasSubstr("NAME=NUMBER"));
}

}  // namespace
}  // namespace jobscope
