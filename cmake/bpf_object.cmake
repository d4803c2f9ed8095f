# bpf_object(SOURCE TARGET): compiles SOURCE (…/NAME.bpf.c) to BPF, strips its DWARF (BTF stays),
# writes the skeleton generated/NAME.skel.h and makes TARGET depend on it. Header edits rebuild.
# Further arguments go to the compiler; with VARIANT set in the caller, all lies in that folder of the
# build's.
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
  set(build ${CMAKE_BINARY_DIR}/${VARIANT})
  if(TARGET bpf_${VARIANT}${name})
    message(FATAL_ERROR "${source}: there is another ${name}.bpf.c; give it a name of its own")
  endif()
  set(object ${build}/bpf/${name}.bpf.o)
  set(skeleton ${build}/generated/${name}.skel.h)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${build}/bpf
    COMMAND ${BPF_CLANG} -g -O2 -Wall -Wno-visibility -target bpf -mcpu=v3 -D__TARGET_ARCH_${BPF_ARCH} ${ARGN}
            -isystem ${CMAKE_SYSROOT}/usr/include/${CMAKE_LIBRARY_ARCHITECTURE} -I ${CMAKE_SOURCE_DIR}
            -MD -MF ${object}.d -MT ${object} -c ${source} -o ${object}
    COMMAND ${BPF_STRIP} -g ${object}
    DEPENDS ${source} DEPFILE ${object}.d
    COMMENT "BPF ${VARIANT} ${name}" VERBATIM)
  add_custom_command(
    OUTPUT ${skeleton}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${build}/generated
    COMMAND sh -c "'${BPFTOOL}' gen skeleton '${object}' name ${name}_bpf > '${skeleton}.new' && mv '${skeleton}.new' '${skeleton}'"
    DEPENDS ${object} VERBATIM)
  add_custom_target(bpf_${VARIANT}${name} DEPENDS ${skeleton})
  add_dependencies(${target} bpf_${VARIANT}${name})
endfunction()
