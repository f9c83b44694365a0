/*
 * Functions of a program that a store calls: a merge operator, a compaction filter and a listener.
 * Run as `callbacks DIRECTORY`, where the directory is empty.
 *
 * A shop keeps the highest bid for each lot. A bid is written without a read, as an operand; the
 * operator keeps the higher one. Lots that are closed go with the next compaction.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "terrace.h"

enum { LOTS = 200, BIDDERS = 4, BIDS = 100 };

static void must(TerraceCode code, const char *what) {
  if (code != TERRACE_CODE_OK) {
    fprintf(stderr, "%s: code %d: %s\n", what, (int)code, terrace_error_message());
    exit(1);
  }
}

static void must_fail(TerraceCode code, TerraceCode expected, const char *what) {
  if (code != expected) {
    fprintf(stderr, "%s: expected code %d, found code %d: %s\n", what, (int)expected, (int)code,
            terrace_error_message());
    exit(1);
  }
}

static void check(int holds, const char *what) {
  if (!holds) {
    fprintf(stderr, "%s: expected to hold\n", what);
    exit(1);
  }
}

/* Calls of the functions. Threads of the store make them, so the numbers are atomic. */
typedef struct {
  atomic_int calls;
  atomic_int bytes;
  atomic_int is_destroyed;
} Seen;

static void destroy(void *data) { atomic_fetch_add(&((Seen *)data)->is_destroyed, 1); }

static TerraceUserData user_data(Seen *seen) {
  TerraceUserData data = {seen, destroy};
  return data;
}

/* Bids are four digits, so that their order is that of their bytes. */
static uint32_t higher(void *data, const TerraceMergeKey *key, TerraceSlice older,
                       TerraceSlice newer, TerraceOutput *result) {
  atomic_fetch_add(&((Seen *)data)->calls, 1);
  if (newer.len != 4 || key->key_space.len == 0 || key->key.len == 0) {
    terrace_output_append(result, terrace_text("a bid has four digits"));
    return 1;
  }
  int is_higher = older.data == NULL || memcmp(newer.data, older.data, 4) > 0;
  terrace_output_append(result, is_higher ? newer : older);
  return 0;
}

static uint32_t keep_open_lots(void *data, TerraceSlice key, TerraceSlice value) {
  (void)value;
  atomic_fetch_add(&((Seen *)data)->calls, 1);
  return !(key.len > 6 && memcmp(key.data, "closed", 6) == 0);
}

static void notice(void *data, const TerraceEvent *event) {
  Seen *seen = data;
  check(event->text.data != NULL && event->text.len > 0, "an event has a text");
  if (event->kind == TERRACE_EVENT_KIND_FLUSH_ENDED) {
    check(event->bytes > 0 && event->nanos > 0, "a flush writes bytes and takes time");
    atomic_fetch_add(&seen->calls, 1);
    atomic_fetch_add(&seen->bytes, (int)event->bytes);
    printf("%.*s\n", (int)event->text.len, (const char *)event->text.data);
  }
}

typedef struct {
  const TerraceKeySpace *space;
  int number;
} Bidder;

/* Bidder n bids 0000, 0000 + n + 1, ... for each lot in turn; the highest bid is the last one of
 * the last bidder. */
static void *bid(void *argument) {
  const Bidder *bidder = argument;
  for (int i = 0; i < BIDS; i++) {
    for (int lot = 0; lot < LOTS; lot += 20) {
      char key[16], amount[16];
      snprintf(key, sizeof key, "lot %03d", lot);
      snprintf(amount, sizeof amount, "%04d", i * (bidder->number + 1));
      must(terrace_merge(bidder->space, terrace_text(key), terrace_text(amount),
                         TERRACE_DURABILITY_DEFAULT),
           "merge");
    }
  }
  return NULL;
}

static void expect(const TerraceKeySpace *space, const char *key, const char *bytes) {
  TerraceValue *value = NULL;
  must(terrace_get(space, terrace_text(key), &value), key);
  TerraceSlice found = terrace_value_bytes(value);
  check(found.len == strlen(bytes) && memcmp(found.data, bytes, found.len) == 0, key);
  terrace_value_free(value);
}

int main(int argc, char **argv) {
  check(argc == 2, "one argument, an empty directory");
  static Seen merged, kept, told, unused;

  /* Operators and filters are made first, and freed once the store has them. */
  TerraceMergeOperator *bids = NULL;
  must_fail(terrace_merge_operator_new(terrace_text(""), higher, user_data(&unused), &bids),
            TERRACE_CODE_INVALID, "an operator without a name");
  must_fail(terrace_merge_operator_new(terrace_text("shop.bid"), NULL, user_data(&unused),
                                       &bids),
            TERRACE_CODE_INVALID, "an operator without a function");
  check(atomic_load(&unused.is_destroyed) == 0, "user data of a call that failed stays");
  must(terrace_merge_operator_new(terrace_text("shop.bid"), higher, user_data(&merged), &bids),
       "operator");
  TerraceCompactionFilters *filters = NULL;
  must(terrace_compaction_filters_new(&filters), "filters");
  must(terrace_compaction_filters_set(filters, terrace_text("default"), keep_open_lots,
                                      user_data(&unused)),
       "filter");
  must(terrace_compaction_filters_set(filters, terrace_text("default"), keep_open_lots,
                                      user_data(&kept)),
       "filter");
  check(atomic_load(&unused.is_destroyed) == 1, "a filter that was replaced is destroyed");

  TerraceStore *store = NULL;
  TerraceOptions options = {0};
  options.merge_operator = bids;
  options.compaction_filters = filters;
  options.compaction_rate = 64 << 20;
  options.counters = 1;
  options.copy_tables = 1;
  must_fail(terrace_store_open(terrace_text(argv[1]), &options, &store), TERRACE_CODE_INVALID,
            "two operators");
  options.counters = 0;
  must(terrace_store_open(terrace_text(argv[1]), &options, &store), "open");
  terrace_merge_operator_free(bids);
  terrace_compaction_filters_free(filters);
  check(atomic_load(&merged.is_destroyed) == 0, "an operator lives with the store");
  must(terrace_store_listen(store, notice, user_data(&told)), "listen");

  const TerraceKeySpace *space = terrace_store_default(store);
  pthread_t threads[BIDDERS];
  Bidder bidders[BIDDERS];
  for (int n = 0; n < BIDDERS; n++) {
    bidders[n].space = space;
    bidders[n].number = n;
    check(pthread_create(&threads[n], NULL, bid, &bidders[n]) == 0, "thread");
  }
  for (int n = 0; n < BIDDERS; n++) {
    pthread_join(threads[n], NULL);
  }
  expect(space, "lot 000", "0396");

  /* In a batch, in a transaction; and a bid that the operator refuses. */
  TerraceBatch *batch = NULL;
  must(terrace_batch_new(&batch), "batch");
  must(terrace_batch_merge(batch, space, terrace_text("lot 000"), terrace_text("0500")), "merge");
  must(terrace_write(store, batch, TERRACE_DURABILITY_DEFAULT), "write");
  terrace_batch_free(batch);
  TerraceTransaction *transaction = NULL;
  must(terrace_transaction_begin(store, &transaction), "transaction");
  must(terrace_transaction_merge(transaction, space, terrace_text("lot 000"), terrace_text("0499")),
       "merge");
  must(terrace_transaction_commit(transaction, TERRACE_DURABILITY_DEFAULT), "commit");
  expect(space, "lot 000", "0500");
  must(terrace_merge(space, terrace_text("odd"), terrace_text("much"), TERRACE_DURABILITY_DEFAULT),
       "merge");
  must(terrace_merge(space, terrace_text("odd"), terrace_text("more!"), TERRACE_DURABILITY_DEFAULT),
       "merge");
  TerraceValue *value = NULL;
  must_fail(terrace_get(space, terrace_text("odd"), &value), TERRACE_CODE_OPTION, "a refused bid");
  check(strstr(terrace_error_message(), "four digits") != NULL, "the reason of the operator");
  must(terrace_delete(space, terrace_text("odd"), TERRACE_DURABILITY_DEFAULT), "delete");

  /* A compaction asks the filter. */
  must(terrace_put(space, terrace_text("closed 7"), terrace_text("0100"),
                   TERRACE_DURABILITY_DEFAULT),
       "put");
  expect(space, "closed 7", "0100");
  must(terrace_compact(space, terrace_none(), terrace_none()), "compact");
  must_fail(terrace_get(space, terrace_text("closed 7"), &value), TERRACE_CODE_NOT_FOUND,
            "a closed lot after a compaction");
  expect(space, "lot 020", "0396");
  expect(space, "lot 000", "0500");

  must(terrace_store_close(store), "close");
  check(atomic_load(&merged.calls) > 0, "the operator was called");
  check(atomic_load(&kept.calls) > 0, "the filter was called");
  check(atomic_load(&told.calls) > 0 && atomic_load(&told.bytes) > 0, "a flush was told");
  check(atomic_load(&merged.is_destroyed) == 1, "the operator is destroyed once");
  check(atomic_load(&kept.is_destroyed) == 1, "the filter is destroyed once");
  check(atomic_load(&told.is_destroyed) == 1, "the listener is destroyed once");
  printf("all is as expected\n");
  return 0;
}
