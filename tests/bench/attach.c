// Attaches the programs of a BPF object until it is ended: attach FILE.bpf.o.
#include <unistd.h>
#include <bpf/libbpf.h>

int main(int argc, char **argv) {
  struct bpf_object *object = argc > 1 ? bpf_object__open_file(argv[1], NULL) : NULL;
  if (!object || bpf_object__load(object)) return 1;
  struct bpf_program *program;
  bpf_object__for_each_program(program, object) {
    if (!bpf_program__attach(program)) return 1;
  }
  pause();
  return 0;
}
