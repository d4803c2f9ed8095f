# What only the tests run.

# The program as on a kernel that lacks a field which one of its probes reads.
add_executable(jobscope_missing_field src/cli/main.cc probes/blockio/blockio.cc
  $<FILTER:$<TARGET_OBJECTS:jobscope_objects>,EXCLUDE,probes/blockio/blockio\\.cc>)
target_include_directories(jobscope_missing_field BEFORE PRIVATE ${CMAKE_BINARY_DIR}/missing_field/generated)
target_link_libraries(jobscope_missing_field PRIVATE jobscope_usage)
set(VARIANT missing_field)
bpf_object(${CMAKE_SOURCE_DIR}/probes/blockio/blockio.bpf.c jobscope_missing_field -Dcmd_flags=no_such_field)
unset(VARIANT)

# Unit tests lie beside what they test; they need no privileges.
enable_testing()
find_package(GTest REQUIRED)
file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS src/*_test.cc probes/*_test.cc tests/fuzz/*.cc)
file(GLOB fuzz_sources CONFIGURE_DEPENDS tests/fuzz/*_fuzz.cc)
set(text "")
foreach(source ${fuzz_sources})
  get_filename_component(name ${source} NAME)
  string(REPLACE "_fuzz.cc" "" name ${name})
  string(APPEND text "TARGET(${name})\n")
  if(JOBSCOPE_LIBFUZZER)  # `make fuzz`
    add_executable(fuzz_${name} ${source})
    target_link_libraries(fuzz_${name} PRIVATE jobscope_objects)
    target_compile_definitions(fuzz_${name} PRIVATE JOBSCOPE_LIBFUZZER)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  endif()
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/fuzz_targets.inc CONTENT "${text}" @ONLY)
add_executable(unit_tests ${test_sources})
target_link_libraries(unit_tests PRIVATE jobscope_objects GTest::gtest_main GTest::gmock)
target_compile_definitions(unit_tests PRIVATE JOBSCOPE_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
  JOBSCOPE_BPF_OBJECT="${CMAKE_BINARY_DIR}/bpf/program_types.bpf.o")
add_test(NAME unit COMMAND unit_tests)
