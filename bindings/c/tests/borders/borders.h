/* Checks of the programs in this directory: a check that does not hold ends the program. */

#ifndef BORDERS_H
#define BORDERS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "terrace.h"

#define HOLDS(condition)                                                          \
  do {                                                                            \
    if (!(condition)) {                                                           \
      fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition);    \
      exit(1);                                                                    \
    }                                                                             \
  } while (0)

/* Checks the code of a call. A call that fails must have a message. */
#define GIVES(expected, call)                                                     \
  do {                                                                            \
    TerraceCode found_ = (call);                                                  \
    if (found_ != (expected)) {                                                   \
      fprintf(stderr, "%s:%d: %s: expected %s, found code %d: %s\n", __FILE__,    \
              __LINE__, #call, #expected, (int)found_, terrace_error_message());  \
      exit(1);                                                                    \
    }                                                                             \
    HOLDS(found_ == TERRACE_CODE_OK || terrace_error_message()[0] != 0);          \
  } while (0)

#define OK(call) GIVES(TERRACE_CODE_OK, call)

#define TEXT terrace_text
#define NONE terrace_none()
/* Zero bytes, which are not the same as no slice. */
#define EMPTY terrace_text("")

/* Whether a slice has these bytes; an empty one is not null. */
static inline int is(TerraceSlice slice, const char *text) {
  return slice.data != NULL && slice.len == strlen(text) &&
         memcmp(slice.data, text, slice.len) == 0;
}

/* Whether a slice is none. */
static inline int is_none(TerraceSlice slice) { return slice.data == NULL && slice.len == 0; }

/* Whether a key has this value; null for none. */
static inline int holds(const TerraceKeySpace *space, TerraceSlice key, const char *value) {
  TerraceValue *found = (TerraceValue *)&found;
  TerraceCode code = terrace_get(space, key, &found);
  if (value == NULL) {
    return code == TERRACE_CODE_NOT_FOUND && found == NULL;
  }
  int same = code == TERRACE_CODE_OK && is(terrace_value_bytes(found), value);
  terrace_value_free(found);
  return same;
}

/* Makes the image of a drive of 64 MiB and formats it. */
static inline void make_drive(const char *path) {
  TerraceShape shape = {0};
  shape.size = 64 << 20;
  OK(terrace_image_create(TEXT(path), &shape));
  OK(terrace_format(TEXT(path)));
}

#endif /* BORDERS_H */
