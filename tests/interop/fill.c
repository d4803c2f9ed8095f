// Writes rows into the maps of another process, and runs its programs, as lines on its standard
// input say:
//
//   fill PID
//     row MAP KEY VALUE[,VALUE...]    KEY in hex; more values: those of the CPUs from 0, the rest
//     is 0 run PROGRAM CPU ARGUMENT...     a raw tracepoint's program, once, with these numbers
//
// Maps and programs are those whose descriptors the process holds. The kernel keeps 15 characters
// of a name, so that is what is compared.
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

enum { kMaxKey = 512, kMaxArguments = 12, kNameLength = 15 };

static int line_number;

static void die(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "fill: line %d: ", line_number);
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n");
  va_end(arguments);
  exit(1);
}

// The number after `name` in the text of a descriptor; 0 if it has none.
static uint32_t id_in(const char *pid, const char *descriptor, const char *name) {
  char path[512], line[256];
  snprintf(path, sizeof(path), "/proc/%s/fdinfo/%s", pid, descriptor);
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  uint32_t id = 0;
  while (fgets(line, sizeof(line), file)) {
    if (strncmp(line, name, strlen(name)) == 0)
      id = (uint32_t)strtoul(line + strlen(name), NULL, 10);
  }
  fclose(file);
  return id;
}

static int map_named(uint32_t id, const char *name, struct bpf_map_info *info) {
  int fd = bpf_map_get_fd_by_id(id);
  uint32_t size = sizeof(*info);
  memset(info, 0, sizeof(*info));
  if (fd >= 0 && bpf_obj_get_info_by_fd(fd, info, &size) == 0 &&
      strncmp(info->name, name, kNameLength) == 0)
    return fd;
  if (fd >= 0) close(fd);
  return -1;
}

static int program_named(uint32_t id, const char *name) {
  struct bpf_prog_info info = {0};
  uint32_t size = sizeof(info);
  int fd = bpf_prog_get_fd_by_id(id);
  if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 &&
      strncmp(info.name, name, kNameLength) == 0)
    return fd;
  if (fd >= 0) close(fd);
  return -1;
}

// A descriptor of the map, or with no `info` of the program, of that name.
static int find(const char *pid, const char *name, struct bpf_map_info *info) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/%s/fdinfo", pid);
  DIR *directory = opendir(path);
  if (!directory) die("%s: %s", path, strerror(errno));
  int fd = -1;
  for (struct dirent *entry; fd < 0 && (entry = readdir(directory));) {
    uint32_t id = id_in(pid, entry->d_name, info ? "map_id:" : "prog_id:");
    if (id) fd = info ? map_named(id, name, info) : program_named(id, name);
  }
  closedir(directory);
  if (fd < 0) die("process %s has no %s named %s", pid, info ? "map" : "program", name);
  return fd;
}

static size_t bytes_of_hex(const char *text, unsigned char *bytes) {
  size_t length = strlen(text) / 2;
  if (strlen(text) % 2 || length > kMaxKey) die("no key: %s", text);
  for (size_t i = 0; i < length; i++) {
    if (sscanf(text + 2 * i, "%2hhx", &bytes[i]) != 1) die("no key: %s", text);
  }
  return length;
}

static int is_per_cpu(uint32_t type) {
  return type == BPF_MAP_TYPE_PERCPU_HASH || type == BPF_MAP_TYPE_LRU_PERCPU_HASH ||
         type == BPF_MAP_TYPE_PERCPU_ARRAY;
}

static void write_row(const char *pid, char **words, int count) {
  if (count != 4) die("row MAP KEY VALUE[,VALUE...]");
  static struct bpf_map_info info;
  static int fd = -1;  // of the map of the row before
  static char name[64];
  if (fd < 0 || strcmp(name, words[1]) != 0) {
    if (fd >= 0) close(fd);
    fd = find(pid, words[1], &info);
    snprintf(name, sizeof(name), "%s", words[1]);
  }
  unsigned char key[kMaxKey];
  size_t length = bytes_of_hex(words[2], key);
  if (length != info.key_size)
    die("the key of %s has %u bytes, not %zu", words[1], info.key_size, length);

  size_t places = is_per_cpu(info.type) ? (size_t)libbpf_num_possible_cpus() : 1;
  // Each place is a multiple of 8 bytes.
  size_t words_each = (info.value_size + 7) / 8;
  uint64_t *values = calloc(places * words_each, sizeof(*values));
  size_t place = 0;
  for (char *save = NULL, *value = strtok_r(words[3], ",", &save); value;
       value = strtok_r(NULL, ",", &save)) {
    if (place == places) die("%s has %zu values in a row", words[1], places);
    values[place++ * words_each] = strtoull(value, NULL, 0);
  }
  if (bpf_map_update_elem(fd, key, values, BPF_ANY)) die("%s: %s", words[1], strerror(errno));
  free(values);
}

static void run_program(const char *pid, char **words, int count) {
  if (count < 3 || count > 3 + kMaxArguments) die("run PROGRAM CPU ARGUMENT...");
  uint64_t context[kMaxArguments] = {0};
  for (int i = 3; i < count; i++) context[i - 3] = strtoull(words[i], NULL, 0);
  int fd = find(pid, words[1], NULL);
  LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = context, .ctx_size_in = sizeof(context),
              .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = (uint32_t)strtoul(words[2], NULL, 10));
  if (bpf_prog_test_run_opts(fd, &options)) die("%s: %s", words[1], strerror(errno));
  close(fd);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: fill PID < LINES\n");
    return 2;
  }
  char *line = NULL;
  size_t size = 0;
  while (getline(&line, &size, stdin) >= 0) {
    line_number++;
    char *words[3 + kMaxArguments + 1];
    int count = 0;
    for (char *save = NULL, *word = strtok_r(line, " \t\n", &save);
         word && count < 3 + kMaxArguments + 1; word = strtok_r(NULL, " \t\n", &save)) {
      words[count++] = word;
    }
    if (count == 0 || words[0][0] == '#') continue;
    if (strcmp(words[0], "row") == 0) {
      write_row(argv[1], words, count);
    } else if (strcmp(words[0], "run") == 0) {
      run_program(argv[1], words, count);
    } else {
      die("neither row nor run: %s", words[0]);
    }
  }
  free(line);
  return 0;
}
