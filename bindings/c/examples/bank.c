/*
 * Transactions from C: several threads move money between accounts, and count the transfers. Run as
 * `bank DIRECTORY`, where the directory is empty. It checks that no money is lost or made, also in
 * a snapshot, after an ingest, and in a copy of the store.
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "terrace.h"

enum { ACCOUNTS = 16, CLIENTS = 4, TRANSFERS = 200, AMOUNT = 100 };

static TerraceStore *store;
static TerraceKeySpace *accounts;

/* Ends the program unless a call has ended like this. */
static void expect(TerraceCode code, TerraceCode expected, const char *what) {
  if (code != expected) {
    fprintf(stderr, "%s: expected code %d, found code %d: %s\n", what, (int)expected, (int)code,
            terrace_error_message());
    exit(1);
  }
}

static void must(TerraceCode code, const char *what) { expect(code, TERRACE_CODE_OK, what); }

static void check(int holds, const char *what) {
  if (!holds) {
    fprintf(stderr, "%s: expected to hold\n", what);
    exit(1);
  }
}

static TerraceSlice slice_of(const uint32_t *number) {
  return terrace_bytes(number, sizeof *number);
}

static uint32_t number_of(TerraceSlice slice) {
  uint32_t number = 0;
  check(slice.len == sizeof number, "a value of four bytes");
  memcpy(&number, slice.data, sizeof number);
  return number;
}

/* Adds one to a counter while other threads may do the same: reads it, and writes the next number
 * if the counter has not changed. */
static void count(TerraceSlice key) {
  TerraceKeySpace const *space = terrace_store_default(store);
  uint32_t before = 0, next = 1, swapped = 0;
  TerraceSlice expected = terrace_none();
  for (;;) {
    TerraceValue *found = NULL;
    must(terrace_compare_and_swap(space, key, expected, slice_of(&next),
                                  TERRACE_DURABILITY_DEFAULT, &swapped, &found),
         "compare and swap");
    if (swapped) {
      check(found == NULL, "no other value");
      return;
    }
    before = number_of(terrace_value_bytes(found));
    terrace_value_free(found);
    next = before + 1;
    expected = slice_of(&before);
  }
}

static uint32_t balance(TerraceTransaction const *transaction, const uint32_t *account) {
  TerraceValue *value = NULL;
  must(terrace_transaction_get(transaction, accounts, slice_of(account), &value), "get");
  uint32_t number = number_of(terrace_value_bytes(value));
  terrace_value_free(value);
  return number;
}

/* Moves money from one account to another, in a transaction that begins again if another client
 * has changed one of the two meanwhile. Returns how often it did. */
static int transfer(uint32_t from, uint32_t to, uint32_t amount) {
  for (int conflicts = 0;; conflicts++) {
    TerraceTransaction *transaction = NULL;
    must(terrace_transaction_begin(store, &transaction), "begin");
    uint32_t source = balance(transaction, &from), target = balance(transaction, &to);
    uint32_t moved = amount < source ? amount : source;
    source -= moved;
    target += moved;
    must(terrace_transaction_put(transaction, accounts, slice_of(&from), slice_of(&source)), "put");
    must(terrace_transaction_put(transaction, accounts, slice_of(&to), slice_of(&target)), "put");
    TerraceCode code = terrace_transaction_commit(transaction, TERRACE_DURABILITY_DEFAULT);
    if (code != TERRACE_CODE_CONFLICT) {
      must(code, "commit");
      return conflicts;
    }
  }
}

static void *client(void *argument) {
  uint32_t random = *(uint32_t *)argument;
  int conflicts = 0;
  for (int i = 0; i < TRANSFERS; i++) {
    random = random * 1664525u + 1013904223u;
    uint32_t from = (random >> 8) % ACCOUNTS, to = (random >> 16) % ACCOUNTS;
    if (from != to) {
      conflicts += transfer(from, to, (random >> 24) % 50);
    }
    count(terrace_text("transfers"));
  }
  *(uint32_t *)argument = (uint32_t)conflicts;
  return NULL;
}

/* What all accounts hold, as a transaction sees them. */
static uint32_t sum_of(TerraceTransaction const *transaction) {
  TerraceTransactionScan *scan = NULL;
  must(terrace_transaction_scan(transaction, accounts, terrace_none(), terrace_none(), &scan),
       "scan");
  uint32_t sum = 0;
  for (must(terrace_transaction_scan_next(scan), "next"); terrace_transaction_scan_on_key(scan);
       must(terrace_transaction_scan_next(scan), "next")) {
    check(terrace_transaction_scan_key(scan).len == 4, "the number of an account");
    sum += number_of(terrace_transaction_scan_value(scan));
  }
  terrace_transaction_scan_free(scan);
  return sum;
}

/* A range that was scanned, and a key that appears in it: a conflict. */
static void conflict(void) {
  TerraceTransaction *transaction = NULL;
  must(terrace_transaction_begin(store, &transaction), "begin");
  check(sum_of(transaction) == ACCOUNTS * AMOUNT, "money that is neither lost nor made");
  const uint32_t other = ACCOUNTS, nothing = 0;
  must(terrace_transaction_delete(transaction, accounts, slice_of(&other)), "delete");
  must(terrace_put(accounts, slice_of(&other), slice_of(&nothing), 0), "put");
  expect(terrace_transaction_commit(transaction, 0), TERRACE_CODE_CONFLICT, "commit");
  check(strstr(terrace_error_message(), "conflict in the key space \"accounts\"") != NULL,
        "the message of a conflict");

  /* A key that it removes is gone for itself, and stays if the transaction is cancelled. */
  must(terrace_transaction_begin(store, &transaction), "begin");
  must(terrace_transaction_delete_range(transaction, accounts, terrace_none(), terrace_none()),
       "delete range");
  check(sum_of(transaction) == 0, "nothing");
  TerraceTransactionScan *scan = NULL;
  must(terrace_transaction_scan(transaction, accounts, terrace_none(), terrace_none(), &scan),
       "scan");
  must(terrace_transaction_scan_prev(scan), "prev");
  check(!terrace_transaction_scan_on_key(scan), "no key");
  check(terrace_transaction_scan_value(scan).data == NULL, "no value");
  terrace_transaction_free(transaction);
  must(terrace_transaction_scan_prev(scan), "a scan that outlives its transaction");
  terrace_transaction_scan_free(scan);
}

/* A snapshot does not see an ingest that comes after it; a copy of the store does. */
static void copies(const char *directory) {
  TerraceSnapshot *snapshot = NULL;
  must(terrace_snapshot_open(store, &snapshot), "snapshot");
  TerraceIngest *ingest = NULL;
  must(terrace_ingest_begin(store, &ingest), "ingest");
  for (uint32_t i = 0; i < 100; i++) {
    char key[16];
    snprintf(key, sizeof key, "ingested %03u", (unsigned)i);
    must(terrace_ingest_put(ingest, accounts, terrace_text(key), slice_of(&i)), "ingest");
  }
  expect(terrace_ingest_put(ingest, accounts, terrace_text("a"), terrace_none()),
         TERRACE_CODE_OUT_OF_ORDER, "a key before the others");
  must(terrace_ingest_finish(ingest), "finish");
  must(terrace_ingest_begin(store, &ingest), "ingest");
  terrace_ingest_free(ingest);

  TerraceValue *value = NULL;
  TerraceSlice key = terrace_text("ingested 007");
  expect(terrace_snapshot_get(snapshot, accounts, key, &value), TERRACE_CODE_NOT_FOUND, "get");
  TerraceCursor *cursor = NULL;
  must(terrace_snapshot_cursor(snapshot, accounts, key, terrace_none(), &cursor), "cursor");
  must(terrace_cursor_first(cursor), "first");
  check(!terrace_cursor_on_key(cursor), "nothing in the snapshot");
  terrace_cursor_free(cursor);
  terrace_snapshot_free(snapshot);

  char path[4096];
  snprintf(path, sizeof path, "%s/copy", directory);
  must(terrace_store_checkpoint(store, terrace_text(path)), "checkpoint");
  expect(terrace_store_checkpoint(store, terrace_text(path)), TERRACE_CODE_TARGET_NOT_EMPTY,
         "a checkpoint over another one");
  expect(terrace_store_backup(store, terrace_text(path)), TERRACE_CODE_TARGET_NOT_EMPTY,
         "a backup over a checkpoint");
  char backup[4096];
  snprintf(backup, sizeof backup, "%s/backup", directory);
  must(terrace_store_backup(store, terrace_text(backup)), "the first backup");
  must(terrace_store_backup(store, terrace_text(backup)), "the second backup, of new tables");
  TerraceStore *copy = NULL;
  must(terrace_store_open(terrace_text(path), NULL, &copy), "open the copy");
  TerraceKeySpace *space = NULL;
  must(terrace_key_space_open(copy, terrace_text("accounts"), 0, &space), "key space");
  must(terrace_get(space, key, &value), "get");
  check(number_of(terrace_value_bytes(value)) == 7, "what was ingested");
  terrace_value_free(value);
  expect(terrace_put(accounts, key, terrace_none(), 99), TERRACE_CODE_INVALID, "durability");
  terrace_key_space_free(space);
  must(terrace_store_close(copy), "close");
}

int main(int argc, char **arguments) {
  if (argc != 2) {
    fprintf(stderr, "usage: bank DIRECTORY\n");
    return 2;
  }
  char path[4096];
  snprintf(path, sizeof path, "%s/bank", arguments[1]);
  check(terrace_transaction_commit(NULL, 0) == TERRACE_CODE_OK, "nothing to commit");
  expect(terrace_transaction_begin(NULL, NULL), TERRACE_CODE_INVALID, "no transaction");
  expect(terrace_store_open(terrace_text(path), NULL, &store), TERRACE_CODE_NOT_FOUND, "open");
  snprintf(path, sizeof path, "%s", arguments[1]);
  must(terrace_store_open(terrace_text(path), NULL, &store), "open");
  must(terrace_key_space_open(store, terrace_text("accounts"), 1, &accounts), "key space");
  const uint32_t amount = AMOUNT;
  for (uint32_t account = 0; account < ACCOUNTS; account++) {
    must(terrace_put(accounts, slice_of(&account), slice_of(&amount), 0), "put");
  }

  pthread_t threads[CLIENTS];
  uint32_t arguments_of[CLIENTS], conflicts = 0;
  for (uint32_t i = 0; i < CLIENTS; i++) {
    arguments_of[i] = i + 1;
    check(pthread_create(&threads[i], NULL, client, &arguments_of[i]) == 0, "a thread");
  }
  for (uint32_t i = 0; i < CLIENTS; i++) {
    pthread_join(threads[i], NULL);
    conflicts += arguments_of[i];
  }
  TerraceValue *value = NULL;
  must(terrace_get(terrace_store_default(store), terrace_text("transfers"), &value), "get");
  uint32_t counted = number_of(terrace_value_bytes(value));
  terrace_value_free(value);
  check(counted == CLIENTS * TRANSFERS, "every transfer is counted once");
  printf("%u transfers, %u conflicts\n", (unsigned)counted, (unsigned)conflicts);

  conflict();
  terrace_key_space_free(accounts);
  must(terrace_key_space_open(store, terrace_text("accounts"), 0, &accounts), "key space");
  snprintf(path, sizeof path, "%s.copies", arguments[1]);
  copies(path);
  terrace_key_space_free(accounts);
  must(terrace_store_close(store), "close");
  printf("all is as expected\n");
  return 0;
}
