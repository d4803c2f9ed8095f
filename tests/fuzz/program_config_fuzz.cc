// NAME.yaml of a person's program.
#include "src/programs/config.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(program_config) { (void)jobscope::parse_program_config("fuzz", bytes, "fuzz.yaml"); }
