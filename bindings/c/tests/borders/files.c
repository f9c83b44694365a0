/*
 * Images and files with names at their borders: files of no bytes, reads at the end and beyond,
 * cuts at, before and after the end of a block. Run as `files DIRECTORY`, where the directory is
 * empty.
 */

#include "borders.h"

static void images(const char *path) {
  TerraceShape shape = {0};
  GIVES(TERRACE_CODE_INVALID, terrace_image_create(TEXT(path), NULL));
  GIVES(TERRACE_CODE_INVALID, terrace_image_create(TEXT(path), &shape));
  shape.size = 64 << 20;
  shape.kind = 3;
  GIVES(TERRACE_CODE_INVALID, terrace_image_create(TEXT(path), &shape));
  GIVES(TERRACE_CODE_NOT_FOUND, terrace_format(TEXT(path)));
  make_drive(path);
  shape.kind = TERRACE_KIND_ZONED;
  GIVES(TERRACE_CODE_EXISTS, terrace_image_create(TEXT(path), &shape));
  OK(terrace_format(TEXT(path)));
}

static uint64_t size_of(const TerraceFs *fs, const char *name) {
  TerraceFileInfo info;
  OK(terrace_fs_stat(fs, TEXT(name), &info));
  return info.size;
}

/* Byte `at` of the files that are filled here. */
static uint8_t byte_at(uint64_t at) { return (uint8_t)(at * 7 + at / 4096); }

static void fill(const TerraceFs *fs, const char *name, uint32_t kind, size_t size) {
  TerraceFileOptions options = {0};
  options.kind = kind;
  TerraceWriter *writer = NULL;
  OK(terrace_fs_create(fs, TEXT(name), &options, &writer));
  uint8_t *bytes = malloc(size + 1);
  for (size_t i = 0; i < size; i++) {
    bytes[i] = byte_at(i);
  }
  OK(terrace_writer_append(writer, terrace_bytes(bytes, size)));
  free(bytes);
  HOLDS(terrace_writer_size(writer) == size);
  OK(terrace_writer_finish(writer, 7));
}

/* Checks the bytes of a file, its end, and reads beyond it. */
static void verify(const TerraceFs *fs, const char *name, size_t size) {
  TerraceReader *reader = NULL;
  OK(terrace_fs_read(fs, TEXT(name), &reader));
  HOLDS(terrace_reader_size(reader) == size && size_of(fs, name) == size);
  uint8_t *bytes = malloc(size + 100);
  size_t count = 1234567;
  OK(terrace_reader_read_at(reader, 0, terrace_buffer(bytes, size + 100), &count));
  HOLDS(count == size);
  for (size_t i = 0; i < size; i++) {
    HOLDS(bytes[i] == byte_at(i));
  }
  uint64_t beyond[] = {size, size + 1, UINT64_MAX};
  for (int i = 0; i < 3; i++) {
    OK(terrace_reader_read_at(reader, beyond[i], terrace_buffer(bytes, 10), &count));
    HOLDS(count == 0);
    TerracePendingRead *read = NULL;
    OK(terrace_reader_submit(reader, beyond[i], 10, &read));
    OK(terrace_pending_read_wait(read, terrace_buffer(bytes, 10), &count));
    HOLDS(count == 0);
  }
  OK(terrace_reader_read_at(reader, 0, terrace_buffer(NULL, 0), &count));
  HOLDS(count == 0);
  TerracePendingRead *read = NULL;
  OK(terrace_reader_submit(reader, 0, 0, &read));
  OK(terrace_pending_read_wait(read, terrace_buffer(NULL, 0), &count));
  HOLDS(count == 0);
  if (size > 0) {
    OK(terrace_reader_submit(reader, size - 1, 100, &read));
    OK(terrace_pending_read_wait(read, terrace_buffer(bytes, 100), &count));
    HOLDS(count == 1 && bytes[0] == byte_at(size - 1));
  }
  OK(terrace_reader_submit(reader, 0, size, &read));
  terrace_pending_read_drop(read);
  GIVES(TERRACE_CODE_INVALID, terrace_reader_read_at(reader, 0, terrace_buffer(bytes, 1), NULL));
  GIVES(TERRACE_CODE_INVALID, terrace_reader_submit(reader, 0, 1, NULL));
  terrace_reader_close(reader);
  free(bytes);
}

/* Cuts are at any byte: at the start and the end, and around the ends of blocks. */
static void cuts(const TerraceFs *fs) {
  size_t sizes[] = {12288, 12287, 8193, 8192, 8191, 4097, 4096, 4095, 1, 0, 0};
  uint32_t kinds[] = {TERRACE_FILE_KIND_CLIENT, TERRACE_FILE_KIND_LOG};
  for (int kind = 0; kind < 2; kind++) {
    fill(fs, "cut", kinds[kind], 12288);
    verify(fs, "cut", 12288);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
      OK(terrace_fs_truncate(fs, TEXT("cut"), sizes[i]));
      verify(fs, "cut", sizes[i]);
      GIVES(TERRACE_CODE_INVALID, terrace_fs_truncate(fs, TEXT("cut"), sizes[i] + 1));
      verify(fs, "cut", sizes[i]);
    }
    OK(terrace_fs_remove(fs, TEXT("cut")));
  }
  GIVES(TERRACE_CODE_NOT_FOUND, terrace_fs_truncate(fs, TEXT("cut"), 0));

  /* A writer cuts its own file, and goes on. */
  TerraceWriter *writer = NULL;
  fill(fs, "cut", TERRACE_FILE_KIND_CLIENT, 5000);
  OK(terrace_fs_append_to(fs, TEXT("cut"), &writer));
  GIVES(TERRACE_CODE_INVALID, terrace_writer_truncate(writer, 5001));
  OK(terrace_writer_truncate(writer, 5000));
  OK(terrace_writer_truncate(writer, 4095));
  HOLDS(terrace_writer_size(writer) == 4095);
  uint8_t next[] = {byte_at(4095), byte_at(4096)};
  OK(terrace_writer_append(writer, terrace_bytes(next, 2)));
  OK(terrace_writer_sync(writer));
  OK(terrace_writer_finish(writer, 8));
  verify(fs, "cut", 4097);
  OK(terrace_fs_remove(fs, TEXT("cut")));
}

static void writers(const TerraceFs *fs) {
  TerraceWriter *writer = (TerraceWriter *)&writer;
  GIVES(TERRACE_CODE_INVALID, terrace_fs_create(fs, NONE, NULL, &writer));
  HOLDS(writer == NULL);
  GIVES(TERRACE_CODE_INVALID, terrace_fs_create(fs, EMPTY, NULL, &writer));
  GIVES(TERRACE_CODE_INVALID, terrace_fs_create(fs, TEXT("f"), NULL, NULL));
  TerraceFileOptions options = {0};
  options.kind = 3;
  GIVES(TERRACE_CODE_INVALID, terrace_fs_create(fs, TEXT("f"), &options, &writer));
  options.kind = TERRACE_FILE_KIND_LOG;
  options.urgent = 3;
  GIVES(TERRACE_CODE_INVALID, terrace_fs_create(fs, TEXT("f"), &options, &writer));
  GIVES(TERRACE_CODE_NOT_FOUND, terrace_fs_stat(fs, TEXT("f"), NULL));
  options.urgent = 2;
  options.lifetime = 200;
  for (int kind = 0; kind < 3; kind++) {
    options.kind = (uint32_t)kind;
    OK(terrace_fs_create(fs, TEXT("f"), &options, &writer));
    OK(terrace_writer_place(writer, 1, 0));
    OK(terrace_writer_append(writer, EMPTY));
    OK(terrace_writer_append(writer, NONE));
    OK(terrace_writer_write_out(writer));
    OK(terrace_writer_sync(writer));
    HOLDS(terrace_writer_size(writer) == 0);
    OK(terrace_writer_finish(writer, 0));
    verify(fs, "f", 0);
  }
  OK(terrace_fs_stat(fs, TEXT("f"), NULL));
  GIVES(TERRACE_CODE_INVALID, terrace_fs_append_to(fs, TEXT("f"), NULL));
  GIVES(TERRACE_CODE_NOT_FOUND, terrace_fs_append_to(fs, TEXT("absent"), &writer));
  OK(terrace_fs_append_to(fs, TEXT("f"), &writer));
  terrace_writer_close(writer);
  verify(fs, "f", 0);
  HOLDS(terrace_writer_size(NULL) == 0);
  terrace_writer_close(NULL);

  /* A writer whose file is gone. */
  OK(terrace_fs_create(fs, TEXT("gone"), NULL, &writer));
  OK(terrace_fs_remove(fs, TEXT("gone")));
  GIVES(TERRACE_CODE_NOT_FOUND, terrace_writer_finish(writer, 0));
}

static void names(const TerraceFs *fs) {
  fill(fs, "a/1", TERRACE_FILE_KIND_CLIENT, 10);
  fill(fs, "a/2", TERRACE_FILE_KIND_CLIENT, 4096);
  OK(terrace_fs_rename(fs, TEXT("a/1"), TEXT("a/1")));
  verify(fs, "a/1", 10);
  GIVES(TERRACE_CODE_NOT_FOUND, terrace_fs_rename(fs, TEXT("absent"), TEXT("a/1")));
  GIVES(TERRACE_CODE_INVALID, terrace_fs_rename(fs, TEXT("a/1"), EMPTY));
  verify(fs, "a/1", 10);
  GIVES(TERRACE_CODE_EXISTS, terrace_fs_link(fs, TEXT("a/1"), TEXT("a/1")));
  GIVES(TERRACE_CODE_EXISTS, terrace_fs_link(fs, TEXT("a/1"), TEXT("a/2")));
  GIVES(TERRACE_CODE_NOT_FOUND, terrace_fs_link(fs, TEXT("absent"), TEXT("l")));
  OK(terrace_fs_link(fs, TEXT("a/1"), TEXT("l")));
  /* Both names are of one file, which the rename of one to the other leaves as it is. */
  OK(terrace_fs_remove(fs, TEXT("a/1")));
  GIVES(TERRACE_CODE_NOT_FOUND, terrace_fs_remove(fs, TEXT("a/1")));
  verify(fs, "l", 10);
  OK(terrace_fs_rename_all(fs, TEXT("absent/"), TEXT("b/")));
  OK(terrace_fs_rename_all(fs, TEXT("a/"), TEXT("b/")));
  verify(fs, "b/2", 4096);
  GIVES(TERRACE_CODE_INVALID, terrace_fs_rename_all(fs, TEXT("b/"), TEXT("b/b/")));
  GIVES(TERRACE_CODE_INVALID, terrace_fs_rename_all(fs, TEXT("b/b/"), TEXT("b/")));
  verify(fs, "b/2", 4096);

  TerraceListing *listing = NULL;
  TerraceFileInfo info;
  GIVES(TERRACE_CODE_INVALID, terrace_fs_list(fs, EMPTY, NULL));
  OK(terrace_fs_list(fs, TEXT("no such prefix"), &listing));
  HOLDS(terrace_listing_len(listing) == 0 && is_none(terrace_listing_at(listing, 0, &info)));
  terrace_listing_free(listing);
  OK(terrace_fs_list(fs, EMPTY, &listing));
  size_t count = terrace_listing_len(listing);
  HOLDS(count == 3 && is(terrace_listing_at(listing, 0, NULL), "b/2"));
  HOLDS(is(terrace_listing_at(listing, count - 1, &info), "l") && info.size == 10);
  HOLDS(info.links == 1 && info.finished == 1 && info.modified == 7);
  HOLDS(is_none(terrace_listing_at(listing, count, &info)));
  HOLDS(is_none(terrace_listing_at(listing, SIZE_MAX, NULL)));
  terrace_listing_free(listing);
  HOLDS(terrace_listing_len(NULL) == 0 && is_none(terrace_listing_at(NULL, 0, NULL)));
  terrace_listing_free(NULL);

  uint64_t bytes = UINT64_MAX;
  OK(terrace_fs_set_lifetime(fs, TEXT("l"), 200));
  GIVES(TERRACE_CODE_INVALID, terrace_fs_set_lifetime(fs, TEXT("l"), 201));
  GIVES(TERRACE_CODE_NOT_FOUND, terrace_fs_set_lifetime(fs, TEXT("absent"), 1));
  OK(terrace_fs_bytes_of_lifetime(fs, 200, &bytes));
  HOLDS(bytes == 10);
  OK(terrace_fs_bytes_of_lifetime(fs, 199, &bytes));
  HOLDS(bytes == 0);
  GIVES(TERRACE_CODE_INVALID, terrace_fs_bytes_of_lifetime(fs, 1, NULL));
}

static void figures(const TerraceFs *fs) {
  TerraceSpace space;
  TerraceParts parts;
  TerraceTraffic before, after;
  GIVES(TERRACE_CODE_INVALID, terrace_fs_space(fs, NULL));
  GIVES(TERRACE_CODE_INVALID, terrace_fs_parts(fs, NULL));
  GIVES(TERRACE_CODE_INVALID, terrace_fs_traffic(fs, NULL));
  OK(terrace_fs_space(fs, &space));
  HOLDS(space.capacity >= space.free + space.live && space.live >= 4106);
  OK(terrace_fs_parts(fs, &parts));
  HOLDS(parts.free.zones > 0 && parts.free.live == 0);
  OK(terrace_fs_traffic(fs, &before));
  fill(fs, "more", TERRACE_FILE_KIND_CLIENT, 1 << 20);
  OK(terrace_fs_traffic(fs, &after));
  HOLDS(after.writes > before.writes);
  HOLDS(after.written_bytes >= before.written_bytes + (1 << 20));
}

int main(int count, char **arguments) {
  HOLDS(count == 2);
  char path[512];
  snprintf(path, sizeof path, "%s/drive.img", arguments[1]);
  images(path);
  TerraceFs *fs = NULL;
  GIVES(TERRACE_CODE_INVALID, terrace_fs_open(TEXT(path), NULL, NULL));
  OK(terrace_fs_open(TEXT(path), NULL, &fs));
  cuts(fs);
  writers(fs);
  names(fs);
  figures(fs);
  TerraceReader *reader = NULL;
  GIVES(TERRACE_CODE_NOT_FOUND, terrace_fs_read(fs, TEXT("absent"), &reader));
  HOLDS(reader == NULL && terrace_reader_size(NULL) == 0);
  OK(terrace_fs_read(fs, TEXT("more"), &reader));
  OK(terrace_fs_remove(fs, TEXT("more")));
  uint8_t byte = 0;
  size_t read = 0;
  OK(terrace_reader_read_at(reader, 4097, terrace_buffer(&byte, 1), &read));
  HOLDS(read == 1 && byte == byte_at(4097));
  OK(terrace_fs_close(fs));
  GIVES(TERRACE_CODE_CLOSED, terrace_reader_read_at(reader, 0, terrace_buffer(&byte, 1), &read));
  terrace_reader_close(reader);
  terrace_reader_close(NULL);
  terrace_pending_read_drop(NULL);
  OK(terrace_fs_close(NULL));
  puts("all is as expected");
  return 0;
}
