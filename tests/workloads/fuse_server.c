// A file system of one file, `slow`, whose every read takes 10 ms: a stand-in for a remote disk.
//     fuse_server DIRECTORY
// Mounts itself there by /dev/fuse (needs root), prints "ready", and serves until it is killed or
// unmounted. Speaks just as much of the FUSE protocol as open, stat and read of that file need.
#include "workload.h"

#include <linux/fuse.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>

enum { FILE_NODE = 2, FILE_SIZE = 64 << 20, LONGEST_READ = 128 << 10 };

static struct fuse_attr attributes(uint64_t node) {
  return (struct fuse_attr){
      .ino = node,
      .mode = node == FILE_NODE ? S_IFREG | 0444 : S_IFDIR | 0755,
      .nlink = 1,
      .size = node == FILE_NODE ? FILE_SIZE : 0,
      .blksize = 4096,
  };
}

static void answer(int fd, uint64_t request, int error, const void *body, size_t size) {
  struct fuse_out_header head = {
      .len = (uint32_t)(sizeof head + size), .error = -error, .unique = request};
  struct iovec parts[2] = {{&head, sizeof head}, {(void *)body, size}};
  (void)!writev(fd, parts, 2);
}

static void serve(int fd, const struct fuse_in_header *in) {
  static char zeros[LONGEST_READ];
  const void *body = in + 1;
  switch (in->opcode) {
    case FUSE_INIT: {
      const struct fuse_init_in *init = body;
      struct fuse_init_out out = {.major = 7, .minor = init->minor, .max_write = LONGEST_READ};
      answer(fd, in->unique, 0, &out, sizeof out);
      return;
    }
    case FUSE_LOOKUP: {
      struct fuse_entry_out out = {
          .nodeid = FILE_NODE, .attr_valid = 60, .attr = attributes(FILE_NODE)};
      answer(fd, in->unique, strcmp(body, "slow") ? ENOENT : 0, &out,
             strcmp(body, "slow") ? 0 : sizeof out);
      return;
    }
    case FUSE_GETATTR: {
      struct fuse_attr_out out = {.attr_valid = 60, .attr = attributes(in->nodeid)};
      answer(fd, in->unique, 0, &out, sizeof out);
      return;
    }
    case FUSE_OPEN: {
      struct fuse_open_out out = {.open_flags = FOPEN_DIRECT_IO};
      answer(fd, in->unique, 0, &out, sizeof out);
      return;
    }
    case FUSE_READ: {
      const struct fuse_read_in *read = body;
      sleep_ns(10 * MS);
      answer(fd, in->unique, 0, zeros, read->size < LONGEST_READ ? read->size : LONGEST_READ);
      return;
    }
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT: return;  // the protocol wants no answer
    case FUSE_RELEASE:
    case FUSE_FLUSH: answer(fd, in->unique, 0, NULL, 0); return;
    default: answer(fd, in->unique, ENOSYS, NULL, 0);
  }
}

int main(int argc, char **argv) {
  int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
  char options[128];
  snprintf(options, sizeof options, "fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other", fd);
  if (argc < 2 || fd < 0 ||
      mount("jobscope_test", argv[1], "fuse", MS_NOSUID | MS_NODEV, options) != 0)
    die("fuse");
  puts("ready");
  fflush(stdout);

  static char request[LONGEST_READ + 4096];
  ssize_t got;
  while ((got = read(fd, request, sizeof request)) > 0 || errno == EINTR || errno == ENOENT) {
    if (got > 0) serve(fd, (const struct fuse_in_header *)request);
  }
}
