//! Reads and writes as futures, in any runtime: a thousand tasks wait at once, and three threads of
//! the store do their work.
//!
//! `cargo run -p terrace --features async --example async_reads`. With the word `measure`, it
//! measures the processor time of a get, by futures and by calls: `cargo run --release -p terrace
//! --features async --example async_reads measure`

use std::time::{Duration, Instant};

use futures_executor::block_on;
use futures_util::future::{join_all, try_join_all};
use terrace::{AsyncDb, AsyncKeySpace, Batch, ByteCount, Db, Durability, Options};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// A visitor of a page: one of many tasks.
async fn visit(db: &AsyncDb, visits: &AsyncKeySpace, visitor: u32) -> Result<(), terrace::Error> {
    let page = format!("page/{}", visitor % 10);
    let text = db.get(page.as_bytes()).await?.expect("the page is there");
    assert_eq!(&text[..], format!("the text of {page}").as_bytes());
    // Waiting writes share the wait for the medium: each is safe when its future ends.
    let key = format!("{page}/{visitor:04}");
    visits.put(key.as_bytes(), b"").await
}

async fn show() -> Outcome<()> {
    let place = std::env::temp_dir().join(format!("terrace-async-{}", std::process::id()));
    let db = AsyncDb::new(Db::open_directory(&place, Options::default())?);
    let mut pages = Batch::new();
    for page in 0..10 {
        let page = format!("page/{page}");
        pages.put(page.as_bytes(), format!("the text of {page}").as_bytes());
    }
    db.write(pages).await?;
    let visits = db.db().create_key_space("visits")?.with_durability(Durability::Synced);
    let visits = AsyncKeySpace::new(visits);
    let before = db.db().stats().groups;
    try_join_all((0..1_000).map(|visitor| visit(&db, &visits, visitor))).await?;
    println!("1000 visits in {} groups of writes", db.db().stats().groups - before);

    let mut scan = visits.scan(terrace::Bounds::prefix(b"page/7/"))?;
    let mut count = 0;
    while let Some((key, _)) = scan.next().await? {
        assert!(key.starts_with(b"page/7/"));
        count += 1;
    }
    println!("{count} of them to page 7");
    assert_eq!(count, 100);
    db.db().clone().close()?;
    Ok(std::fs::remove_dir_all(place)?)
}

/// Processor time of the process.
fn processor_time() -> Outcome<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    // Of a hundredth of a second.
    Ok(Duration::from_millis(ticks * 10))
}

#[expect(clippy::disallowed_methods, reason = "a program of a user has the clock of the machine")]
fn now() -> Instant {
    Instant::now()
}

fn measure() -> Outcome<()> {
    const KEYS: u32 = 1_000_000;
    const AT_ONCE: usize = 1_000;
    const ROUNDS: usize = 1_000;
    let place = std::env::temp_dir().join(format!("terrace-async-{}", std::process::id()));
    let options = Options::default().memory(ByteCount::mib(512));
    let db = Db::open_directory(&place, options)?;
    for key in 0..KEYS {
        db.put(&key.to_be_bytes(), &[7; 100])?;
    }
    db.compact_all()?;
    let futures = AsyncDb::new(db.clone());
    // Scattered over all keys.
    let keys = |round: usize| -> Vec<_> {
        let numbers = (round * AT_ONCE..).take(AT_ONCE).map(|number| number as u32);
        numbers.map(|number| (number.wrapping_mul(0x9e37_79b1) % KEYS).to_be_bytes()).collect()
    };
    type Round<'a> = &'a dyn Fn(&[[u8; 4]]) -> Result<usize, terrace::Error>;
    let calls: Round<'_> = &|keys| {
        keys.iter().try_fold(0, |found, key| Ok(found + usize::from(db.get(key)?.is_some())))
    };
    let several: Round<'_> = &|keys| Ok(db.multi_get(keys)?.iter().flatten().count());
    let at_once: Round<'_> = &|keys| {
        let gets = join_all(keys.iter().map(|key| futures.get(key)));
        block_on(gets).into_iter().try_fold(0, |found, get| Ok(found + usize::from(get?.is_some())))
    };
    for (name, round) in [("get", calls), ("multi_get", several), ("futures", at_once)] {
        // The first rounds fill the cache.
        for number in 0..ROUNDS {
            assert_eq!(round(&keys(number))?, AT_ONCE);
        }
        let (processor, begun) = (processor_time()?, now());
        for number in 0..ROUNDS {
            assert_eq!(round(&keys(number))?, AT_ONCE);
        }
        let took = now() - begun;
        let each = |time: Duration| time.as_nanos() as f64 / (ROUNDS * AT_ONCE) as f64 / 1_000.0;
        let processor = each(processor_time()?.saturating_sub(processor));
        println!("{name:10} {processor:.2} us of processor time, {:.2} us for a key", each(took));
    }
    db.close()?;
    Ok(std::fs::remove_dir_all(place)?)
}

fn main() -> Outcome<()> {
    match std::env::args().nth(1).as_deref() {
        Some("measure") => measure(),
        _ => block_on(show()),
    }
}
