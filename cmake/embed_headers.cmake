# Writes an .inc with HEADER("path", "contents") for each header that a person's program may include.
# Run by `cmake -P` with -DROOT=, -DHEADERS= (relative to ROOT) and -DOUT=.
separate_arguments(HEADERS)
set(text "")
foreach(header ${HEADERS})
  file(READ ${ROOT}/${header} contents)
  string(REGEX REPLACE "^programs/" "" name ${header})
  string(APPEND text "HEADER(\"${name}\", R\"~~~(${contents})~~~\")\n")
endforeach()
file(WRITE ${OUT} "${text}")
