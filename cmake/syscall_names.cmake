# Writes generated/syscall_names.inc, SYSCALL(number, "name") for each system call that the kernel
# headers of this machine's architecture know. Run by `cmake -P` with -DHEADER= and -DOUT=.
file(STRINGS ${HEADER} lines REGEX "^#define __NR_[a-z0-9_]+ [0-9]+")
set(text "")
foreach(line ${lines})
  string(REGEX REPLACE "^#define __NR_([a-z0-9_]+) ([0-9]+).*" "SYSCALL(\\2, \"\\1\")\n" entry ${line})
  string(APPEND text "${entry}")
endforeach()
file(WRITE ${OUT} "${text}")
