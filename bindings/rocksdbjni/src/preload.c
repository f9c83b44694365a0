/*
 * The object that LD_PRELOAD names. It defines rocksdb::Env::Default(), so that a program that
 * loads the RocksDB of its own afterwards, as a JVM does with rocksdbjni, gets an Env of Terrace.
 *
 * The first call finds RocksDB among the loaded objects, asks it for its version, makes its symbols
 * visible, and loads `libterrace_rocksdbjni-VERSION.so` from the directory of this object. That one
 * is built with the headers of that version, and makes the Env. What cannot be done ends the
 * process with a reason on standard error.
 *
 * Without TERRACE_DRIVE and TERRACE_PREFIX, RocksDB's own Env is returned. In a program without
 * RocksDB this object does nothing: it needs only the C library. A process has one RocksDB: a
 * second one that asks for its Env ends it.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A std::string of either ABI: both begin with the address of the text. */
struct text {
  const char *bytes;
  size_t rest[3];
};

typedef void *(*default_env)(void);
typedef struct text (*version_text)(bool with_patch);
typedef void *(*make_env)(void);

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
/* RocksDB's own Env; null until the first call. */
static void *own;
/* The Env that is returned. */
static void *env;
/* RocksDB's own Env::Default(), by which its library is known. */
static default_env own_default;
/* The objects that had been loaded when they were looked through. */
static unsigned long long seen;

/* rocksdb::Env::Default() */
__attribute__((visibility("default"))) void *_ZN7rocksdb3Env7DefaultEv(void);

static void fail(const char *expected, const char *found) {
  fprintf(stderr, "libterrace_rocksdbjni: expected %s, found %s\n", expected, found);
  _exit(1);
}

static void *symbol_of(void *library, const char *name, const char *other) {
  void *symbol = dlsym(library, name);
  if (symbol == NULL && other != NULL) {
    symbol = dlsym(library, other);
  }
  if (symbol == NULL) {
    fail("a RocksDB that exports its symbols", dlerror());
  }
  return symbol;
}

/* Loads the object for this version of RocksDB. */
static void *load(const char *version) {
  Dl_info self;
  char path[4096];
  if (dladdr((const void *)&fail, &self) == 0) {
    fail("the path of the preloaded object", "none");
  }
  const char *slash = strrchr(self.dli_fname, '/');
  const int directory = slash == NULL ? 0 : (int)(slash + 1 - self.dli_fname);
  snprintf(path, sizeof path, "%.*slibterrace_rocksdbjni-%s.so", directory, self.dli_fname,
           version);
  void *loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (loaded == NULL) {
    char expected[4200];
    snprintf(expected, sizeof expected, "%s, which is built by `make VERSION=%s`", path, version);
    fail(expected, dlerror());
  }
  return loaded;
}

/* The number of objects that have been loaded since the start. */
static int count_loaded(struct dl_phdr_info *object, size_t size, void *count) {
  (void)size;
  *(unsigned long long *)count = object->dlpi_adds;
  return 1;
}

/* The path of one object after the other. */
struct paths {
  char *next;
  char *end;
};

static int list_path(struct dl_phdr_info *object, size_t size, void *list) {
  (void)size;
  struct paths *paths = list;
  const size_t length = strlen(object->dlpi_name) + 1;
  if (length > 1 && length <= (size_t)(paths->end - paths->next)) {
    memcpy(paths->next, object->dlpi_name, length);
    paths->next += length;
  }
  return 0;
}

/* Finds the object that defines RocksDB's own Env::Default(), and makes its symbols visible. */
static void *find_rocksdb(void) {
  static char all[1 << 20];
  struct paths paths = {all, all + sizeof all};
  void *rocksdb = NULL;
  dl_iterate_phdr(list_path, &paths);
  for (const char *path = all; path < paths.next; path += strlen(path) + 1) {
    void *library = dlopen(path, RTLD_NOLOAD | RTLD_LAZY);
    void *found = library == NULL ? NULL : dlsym(library, "_ZN7rocksdb3Env7DefaultEv");
    if (found == NULL || found == (void *)&_ZN7rocksdb3Env7DefaultEv) {
      continue;
    }
    if (own_default != NULL && found != (void *)own_default) {
      fail("one RocksDB in the process", path);
    }
    if (own_default == NULL) {
      own_default = (default_env)found;
      rocksdb = dlopen(path, RTLD_NOLOAD | RTLD_GLOBAL | RTLD_LAZY);
    }
  }
  return rocksdb;
}

/* Makes the Env. */
static void begin(void *rocksdb) {
  if (rocksdb == NULL) {
    fail("RocksDB in a shared object that exports its symbols", "none");
  }
  own = own_default();
  if (getenv("TERRACE_DRIVE") == NULL && getenv("TERRACE_PREFIX") == NULL) {
    env = own;
    return;
  }
  version_text ask = (version_text)symbol_of(rocksdb, "_ZN7rocksdb23GetRocksVersionAsStringEb",
                                             "_ZN7rocksdb23GetRocksVersionAsStringB5cxx11Eb");
  void *loaded = load(ask(true).bytes);
  env = ((make_env)symbol_of(loaded, "terrace_rocksdbjni_env", NULL))();
}

void *_ZN7rocksdb3Env7DefaultEv(void) {
  unsigned long long loaded = 0;
  dl_iterate_phdr(count_loaded, &loaded);
  pthread_mutex_lock(&mutex);
  if (own == NULL) {
    begin(find_rocksdb());
  } else if (env != NULL && env != own && loaded != seen) {
    find_rocksdb();
  }
  seen = loaded;
  /* While the Env is made, its maker gets RocksDB's own. */
  void *found = env == NULL ? own : env;
  pthread_mutex_unlock(&mutex);
  return found;
}
