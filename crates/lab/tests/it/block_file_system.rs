//! Runs over a file system of the operating system, as far as settings of a run stand for it: its
//! journal in the middle of a disk, syncs of single files, a log that is written in chunks, and
//! tables that are compressed.

use terrace_lab::run::{LogWrites, Metrics};

use crate::run::{LOAD, metrics, plan};

/// The load on an ordinary disk, with these settings of the store.
fn on_disk(settings: &str) -> String {
    let text = LOAD.replace("\"leveldb-greedy\", \"bluefs\"", "\"leveldb-disk\"");
    text.replace("[store]", &format!("[store]\ndevice = {{ kind = \"plain\" }}\n{settings}"))
}

/// Number of writes in the run.
const SYNCED: u32 = 1_000;

fn synced(settings: &str) -> Metrics {
    let text = on_disk(&format!("synced = true\n{settings}")).replace("8MiB", "64MiB");
    metrics(&text.replace("300_000", &format!("{}", SYNCED * 64)), "1/64")
}

#[test]
fn a_synced_write_over_a_journaling_file_system_goes_to_the_middle_of_the_disk_and_back() {
    let place = |metadata: &str| {
        let places = format!("log = \"sequential\"\nmetadata = \"{metadata}\"");
        synced(&format!("{places}\nlog_writes = \"journaled\""))
    };
    let [near, middle] = ["sequential", "middle"].map(place);
    let recycled = synced("log = \"sequential\"");
    for (of, each) in [(&near, 2.0), (&middle, 2.0), (&recycled, 1.0)] {
        let syncs = of.syncs_by_cause["total"] / f64::from(SYNCED);
        assert!((each..each + 0.1).contains(&syncs), "{syncs} for an entry, expected {each}");
        assert!(of.syncs_by_cause["log"] >= f64::from(SYNCED), "{:?}", of.syncs_by_cause);
        assert!(of.writes_by_cause["log"] >= f64::from(SYNCED), "they are the disk's");
    }
    // Half of a full stroke each way, where the other place is two hundredths away.
    let each = |of: &Metrics| of.seconds / f64::from(SYNCED);
    println!("{} s an entry, {} s, and {} s", each(&near), each(&middle), each(&recycled));
    assert!(middle.seconds > 1.5 * near.seconds, "{} and {}", middle.seconds, near.seconds);
    assert!(middle.seconds > 2.0 * recycled.seconds, "{}", recycled.seconds);
}

#[test]
fn tables_that_are_synced_by_themselves_take_further_writes_of_metadata() {
    let together = metrics(&on_disk(""), "1/64");
    let by_file = metrics(&on_disk("metadata_writes = \"by-file\""), "1/64");
    let writes = |of: &Metrics| of.writes_by_cause["journal"];
    let tables: f64 = together.written_by_level.values().sum::<f64>() * 300_000.0 * 4112.0;
    let tables = tables / f64::from(8 << 20);
    let more = writes(&by_file) - writes(&together);
    println!("{} and {} writes, {tables} tables", writes(&by_file), writes(&together));
    assert!(more > tables && more < 4.0 * tables, "{more} more for {tables} tables");
    assert!(by_file.seconds > together.seconds, "{} and {}", by_file.seconds, together.seconds);
}

#[test]
fn a_log_that_is_waited_for_in_chunks_has_no_padding_to_each_entry() {
    let text = |more: &str| {
        let text = LOAD.replace("\"4096\"", "\"400\"").replace("6GiB", "24GiB");
        text.replace("[store]", &format!("[store]\nlog_writes = \"waiting\"\n{more}"))
    };
    let each = metrics(&text(""), "1/64");
    let chunks = metrics(&text("log_chunk = \"512KiB\""), "1/64");
    let written = |of: &Metrics| of.write_amplification.log;
    println!("{} bytes of log for one, and {}", written(&each), written(&chunks));
    assert!(written(&each) > 8.0, "a block to an entry");
    // A block of a frame of two is lost at most.
    assert!((1.0..1.6).contains(&written(&chunks)), "{}", written(&chunks));
    assert!(chunks.seconds < each.seconds, "{} and {}", chunks.seconds, each.seconds);
    let forced = metrics(&text("log_chunk = \"512KiB\"").replace("waiting", "forced"), "1/64");
    let syncs = |of: &Metrics| of.syncs_by_cause.get("log").copied().unwrap_or(0.0);
    assert!(
        syncs(&forced) > 100.0 * syncs(&chunks).max(1.0),
        "{:?} and {:?}",
        forced.syncs_by_cause,
        chunks.syncs_by_cause
    );
    assert!(forced.seconds > 1.2 * chunks.seconds, "{} and {}", forced.seconds, chunks.seconds);
    let chunk = plan(&text("log_chunk = \"1MiB\""), "1/64").store;
    assert_eq!((chunk.log_writes, chunk.log_chunk), (LogWrites::Waiting, 16 << 10));
}

#[test]
fn values_that_compress_take_less_of_tables_and_as_much_of_the_log() {
    let text = |compression: &str| {
        let settings = format!("compressible_to = 50\ncompression = \"{compression}\"");
        LOAD.replace("\"4096\"", "\"400\"").replace("[store]", &format!("[store]\n{settings}"))
    };
    let [whole, half] = ["none", "lz4"].map(|compression| metrics(&text(compression), "1/64"));
    let (flush, log) = (whole.write_amplification.flush, whole.write_amplification.log);
    let ratio = half.write_amplification.flush / flush;
    println!("{ratio} of the bytes of tables");
    assert!((0.45..0.7).contains(&ratio), "{ratio}");
    assert!((half.write_amplification.log / log - 1.0).abs() < 0.01, "{log}");
}
