//! A time series: readings by sensor and time, read by range, and forgotten by range deletes.
//!
//! A range delete is one write, for any number of keys. Tables that lie wholly in the range are
//! dropped without a read.
//!
//! `cargo run -p terrace --example time_series`

use terrace::{Batch, ByteCount, Db, KeySpace, Options};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const SENSORS: u16 = 20;
const HOUR: u64 = 3600;

/// Readings in a separate key space. Keys are sensor and time, both big-endian, so that one
/// sensor's readings lie together and in order.
struct Series {
    readings: KeySpace,
}

impl Series {
    fn key(sensor: u16, time: u64) -> [u8; 10] {
        let mut key = [0; 10];
        key[..2].copy_from_slice(&sensor.to_be_bytes());
        key[2..].copy_from_slice(&time.to_be_bytes());
        key
    }

    /// One reading of each sensor, together.
    fn record(&self, db: &Db, time: u64) -> Outcome<()> {
        let mut batch = Batch::new();
        for sensor in 0..SENSORS {
            let reading = f64::from(sensor) + (time % 600) as f64 / 600.0;
            batch.key_space(&self.readings).put(&Self::key(sensor, time), &reading.to_le_bytes());
        }
        Ok(db.write(batch)?)
    }

    /// Count and mean of a sensor's readings from one time up to, and without, another.
    fn mean(&self, sensor: u16, from: u64, to: u64) -> Outcome<(u64, f64)> {
        let (mut count, mut sum) = (0, 0.0);
        for entry in self.readings.scan(Self::key(sensor, from)..Self::key(sensor, to))? {
            let (_, value) = entry?;
            sum += f64::from_le_bytes(value[..].try_into()?);
            count += 1;
        }
        Ok((count, if count == 0 { 0.0 } else { sum / count as f64 }))
    }

    /// The newest reading of a sensor: the first of a scan backward.
    fn newest(&self, sensor: u16) -> Outcome<Option<u64>> {
        let all = Self::key(sensor, 0)..=Self::key(sensor, u64::MAX);
        let Some(entry) = self.readings.scan(all)?.next_back() else { return Ok(None) };
        Ok(Some(u64::from_be_bytes(entry?.0[2..].try_into()?)))
    }

    /// Forgets older readings of all sensors: a range for each, as one write.
    fn forget_before(&self, db: &Db, time: u64) -> Outcome<()> {
        let mut batch = Batch::new();
        for sensor in 0..SENSORS {
            batch
                .key_space(&self.readings)
                .delete_range(Self::key(sensor, 0)..Self::key(sensor, time));
        }
        Ok(db.write(batch)?)
    }
}

fn main() -> Outcome<()> {
    let place = tempfile::tempdir()?;
    let options = Options::default().memtable_size(ByteCount::mib(1));
    let db = Db::open_directory(place.path().join("series"), options)?;
    let series = Series { readings: db.create_key_space("readings")? };

    // Twelve hours, a reading every ten seconds; each hour, readings older than four hours are
    // forgotten.
    for time in (0..12 * HOUR).step_by(10) {
        series.record(&db, time)?;
        if time % HOUR == 0 && time > 4 * HOUR {
            series.forget_before(&db, time - 4 * HOUR)?;
        }
    }
    let end = 12 * HOUR;
    let (count, mean) = series.mean(3, end - HOUR, end)?;
    println!("sensor 3, last hour: {count} readings, {mean:.3} on average");
    assert_eq!(count, 360);
    assert_eq!(series.mean(3, 0, 7 * HOUR)?.0, 0, "what is forgotten is gone at once");
    assert_eq!(series.newest(7)?, Some(end - 10));

    // The space is freed in the background.
    db.flush()?;
    db.wait_idle()?;
    db.compact_all()?;
    let bytes: u64 = db.stats().levels.iter().map(|level| level.bytes).sum();
    let left = series.readings.scan(..)?.count();
    println!("{left} readings are left, in tables of {}", ByteCount(bytes));
    assert_eq!(left as u64, u64::from(SENSORS) * 5 * 360);
    db.close()?;
    Ok(())
}
