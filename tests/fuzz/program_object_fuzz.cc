// NAME.bpf.o: what we read of it ourselves. libbpf reads it in a child (program_object.cc).
#include <string>

#include "src/programs/sections.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(program_object) {
  std::string object(bytes);
  const auto sections = jobscope::sections_with_alternatives(object);
  if (!sections) return;
  for (const std::string& section : *sections)
    for (const std::string& one : jobscope::section_alternatives(section)) {
      (void)jobscope::rename_section(object, section, one);
      (void)jobscope::binary_section(one);
      (void)jobscope::perf_event_section(one);
    }
}
