// Exits with the code it is given. Static and tiny, so that a storm of it is quick.
//     exit_with CODE
#include <stdlib.h>

int main(int argc, char **argv) { return argc > 1 ? atoi(argv[1]) : 0; }
