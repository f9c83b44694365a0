//! [`mend`]: goes on with a store that has stopped writing, once the cause is gone: a disk of the
//! host that was full, or a process that had no descriptor left. Reads work meanwhile.

use std::time::Duration;

use terrace::Db;
use tokio::{task, time};

/// Tries again and again to go on, if the store has stopped. Never ends.
pub(crate) async fn mend(db: Db, every: Duration) {
    let mut is_reported = false;
    loop {
        time::sleep(every).await;
        let (db, failing) = (db.clone(), db.clone());
        // After a lack of space the store goes on all the same.
        let resume =
            move || db.resume().or_else(|error| if error.is_space() { Ok(()) } else { Err(error) });
        let tried = move || failing.stats().failure.map(|failure| (failure, resume()));
        match task::spawn_blocking(tried).await {
            Ok(Some((failure, Ok(())))) => {
                tracing::warn!(after = failure, "the store takes writes again");
                is_reported = false;
            }
            Ok(Some((failure, Err(error)))) if !is_reported => {
                tracing::error!(failure, %error, "the store takes no writes, and cannot go on yet");
                is_reported = true;
            }
            Ok(Some(_)) | Err(_) => {}
            Ok(None) => is_reported = false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use terrace::{Durability, ErrorKind, Options};
    use terrace_env::runner;
    use terrace_fs::Access;
    use terrace_fs::dir::{DirOptions, DirStore, MemoryFiles};
    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn a_store_that_had_no_room_for_its_log_takes_writes_again() {
        let files = MemoryFiles::new();
        let options = DirOptions { access: Access::ReadWrite };
        let store = DirStore::open_on(Arc::new(files.clone()), options).expect("a store");
        let db = Db::open(store, Options::default()).expect("a store");
        let db = db.with_durability(Durability::Synced);
        db.put(b"before", b"1").expect("a put");
        // Some operations may fail without harm.
        let is_refused = |_| {
            files.fail_at(files.operations(), io::ErrorKind::StorageFull);
            db.put(b"refused", b"2").is_err()
        };
        assert!((0..100).any(is_refused), "no put is refused");
        assert_eq!(db.put(b"refused", b"2").expect_err("stopped").kind(), ErrorKind::Stopped);
        let runtime = Builder::new_multi_thread().enable_all().build().expect("a runtime");
        let mending = runtime.spawn(mend(db.clone(), Duration::from_millis(2)));
        let mut tries = (0..5000).map(|_| {
            runner::sleep(Duration::from_millis(2));
            db.put(b"after", b"3")
        });
        assert!(tries.any(|put| put.is_ok()), "the store stays stopped");
        assert_eq!(db.get(b"before").expect("a read").as_deref(), Some(&b"1"[..]));
        mending.abort();
        drop(runtime);
        db.close().expect("a close");
    }
}
