# The programs that come with jobscope, programs/NAME.bpf.c + NAME.yaml, as ebpf_exporter's pairs: NAME.bpf.o
# and NAME.yaml lie together in programs/ of the build folder and of what is installed. Header edits rebuild.
function(shipped_programs)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/programs/*.bpf.c)
  set(folder ${CMAKE_BINARY_DIR}/programs)
  set(made "")
  foreach(source ${sources})
    get_filename_component(name ${source} NAME)
    string(REPLACE ".bpf.c" "" name ${name})
    set(object ${folder}/${name}.bpf.o)
    set(config ${CMAKE_SOURCE_DIR}/programs/${name}.yaml)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
      COMMAND ${BPF_CLANG} -g -O2 -Wall -Wno-visibility -target bpf -mcpu=v3 -D__TARGET_ARCH_${BPF_ARCH}
              -isystem ${CMAKE_SYSROOT}/usr/include/${CMAKE_LIBRARY_ARCHITECTURE} -I ${CMAKE_SOURCE_DIR}
              -MD -MF ${object}.d -MT ${object} -c ${source} -o ${object}
      COMMAND ${BPF_STRIP} -g ${object}
      DEPENDS ${source} DEPFILE ${object}.d
      COMMENT "program ${name}" VERBATIM)
    add_custom_command(
      OUTPUT ${folder}/${name}.yaml
      COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
      COMMAND ${CMAKE_COMMAND} -E copy ${config} ${folder}/${name}.yaml
      DEPENDS ${config} VERBATIM)
    list(APPEND made ${object} ${folder}/${name}.yaml)
    install(FILES ${object} ${folder}/${name}.yaml DESTINATION ${CMAKE_INSTALL_DATADIR}/jobscope/programs)
  endforeach()
  add_custom_target(programs ALL DEPENDS ${made})
endfunction()
shipped_programs()
