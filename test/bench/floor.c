/*
 * The floor under any reader of kernel files: what a pass over them costs a program that does nothing else.
 *
 *   floor PASSES [--reopen]  < list of paths, one a line
 *
 * Opens every file once and re-reads it at offset 0 in each pass; with --reopen it opens and closes it each time, as
 * `cat` would. A file that cannot be opened or read is counted in "failed" and still asked in each pass, for that is
 * what it costs. Prints one line of JSON, times in microseconds a pass.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { ATTRIBUTE_SIZE = 4096 };

struct file {
  char *path;
  int fd;
  int failed;
};

static void die(const char *what) {
  fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
  exit(1);
}

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static size_t read_list(struct file **files) {
  size_t count = 0, room = 0, line_room = 0;
  char *line = NULL;
  ssize_t length;
  while ((length = getline(&line, &line_room, stdin)) > 0) {
    if (line[length - 1] == '\n') line[--length] = '\0';
    if (length == 0) continue;
    if (count == room) {
      room = room ? room * 2 : 256;
      *files = realloc(*files, room * sizeof **files);
      if (!*files) die("list");
    }
    char *path = strdup(line);
    if (!path) die("list");
    (*files)[count++] = (struct file){.path = path, .fd = -1, .failed = 0};
  }
  free(line);
  return count;
}

static void raise_descriptor_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit)) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

/* Bytes read, and a descriptor that is closed again, count for nothing but that they were asked for. */
static void pass(struct file *files, size_t count, int reopen) {
  static char buffer[ATTRIBUTE_SIZE];
  for (size_t i = 0; i < count; i++) {
    struct file *file = &files[i];
    int fd = reopen ? open(file->path, O_RDONLY | O_CLOEXEC) : file->fd;
    if (fd < 0 || pread(fd, buffer, sizeof buffer, 0) < 0) file->failed = 1;
    if (reopen && fd >= 0) close(fd);
  }
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Nearest rank: the smallest time that at least this share of all passes kept. */
static double quantile(const double *sorted, size_t count, size_t percent) {
  size_t rank = (count * percent + 99) / 100;
  return sorted[rank ? rank - 1 : 0];
}

int main(int argc, char **argv) {
  int reopen = argc == 3 && strcmp(argv[2], "--reopen") == 0;
  char *end = NULL;
  long passes = argc >= 2 ? strtol(argv[1], &end, 10) : 0;
  if (passes < 1 || *end || argc > 3 || (argc == 3 && !reopen)) {
    fprintf(stderr, "usage: floor PASSES [--reopen] < paths\n");
    return 2;
  }

  struct file *files = NULL;
  size_t count = read_list(&files);
  raise_descriptor_limit();
  for (size_t i = 0; i < count && !reopen; i++) {
    files[i].fd = open(files[i].path, O_RDONLY | O_CLOEXEC);
    /* Our own limit would make the floor look lower than it is. */
    if (files[i].fd < 0 && (errno == EMFILE || errno == ENFILE)) die(files[i].path);
  }

  double *times = malloc((size_t)passes * sizeof *times);
  if (!times) die("times");
  pass(files, count, reopen); /* fills the dentry cache, as any earlier pass would have */
  for (long n = 0; n < passes; n++) {
    double before = now_us();
    pass(files, count, reopen);
    times[n] = now_us() - before;
  }
  qsort(times, (size_t)passes, sizeof *times, ascending);

  size_t failed = 0;
  for (size_t i = 0; i < count; i++) failed += (size_t)files[i].failed;
  printf("{\"files\":%zu,\"failed\":%zu,\"passes\":%ld,\"p50\":%.3f,\"p99\":%.3f}\n", count, failed, passes,
         quantile(times, (size_t)passes, 50), quantile(times, (size_t)passes, 99));
  return 0;
}
