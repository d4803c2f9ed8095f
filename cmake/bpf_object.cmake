# bpf_object(SOURCE TARGET): compiles SOURCE (…/NAME.bpf.c) to BPF, strips its DWARF (BTF stays),
# writes the skeleton generated/NAME.skel.h and makes TARGET depend on it. Header edits rebuild.
find_program(BPF_CLANG NAMES clang clang-19 clang-16 clang-14 REQUIRED)
find_program(BPF_STRIP NAMES llvm-strip llvm-strip-19 llvm-strip-16 llvm-strip-14 REQUIRED)
find_program(BPFTOOL bpftool PATHS /usr/sbin /sbin REQUIRED)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(BPF_ARCH arm64)
else()
  set(BPF_ARCH x86)
endif()

function(bpf_object source target)
  get_filename_component(name ${source} NAME)
  string(REPLACE ".bpf.c" "" name ${name})
  if(TARGET bpf_${name})
    message(FATAL_ERROR "${source}: there is another ${name}.bpf.c; give it a name of its own")
  endif()
  set(object ${CMAKE_BINARY_DIR}/bpf/${name}.bpf.o)
  set(skeleton ${CMAKE_BINARY_DIR}/generated/${name}.skel.h)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/bpf
    COMMAND ${BPF_CLANG} -g -O2 -Wall -Wno-visibility -target bpf -mcpu=v3 -D__TARGET_ARCH_${BPF_ARCH}
            -isystem /usr/include/${CMAKE_LIBRARY_ARCHITECTURE} -I ${CMAKE_SOURCE_DIR}
            -MD -MF ${object}.d -MT ${object} -c ${source} -o ${object}
    COMMAND ${BPF_STRIP} -g ${object}
    DEPENDS ${source} DEPFILE ${object}.d
    COMMENT "BPF ${name}" VERBATIM)
  add_custom_command(
    OUTPUT ${skeleton}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/generated
    COMMAND sh -c "'${BPFTOOL}' gen skeleton '${object}' name ${name}_bpf > '${skeleton}.new' && mv '${skeleton}.new' '${skeleton}'"
    DEPENDS ${object} VERBATIM)
  add_custom_target(bpf_${name} DEPENDS ${skeleton})
  add_dependencies(${target} bpf_${name})
endfunction()
