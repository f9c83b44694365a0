//! Uploads of many clients at once, to a drive with few open zones.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use terrace_env::runner;

use crate::rig::{Medium, Rig, Store, bytes};

/// Clients, more than the rig has threads that may wait, and than the drive has open zones.
const CLIENTS: u64 = 60;
/// Bytes of a body, more than one write of a file.
const SIZE: usize = 2_000_000;
/// Longest time for a small read meanwhile, on a slow machine. A wait for an open zone ends after a
/// minute.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn more_uploads_than_threads_and_open_zones_wait_for_each_other_and_hold_up_no_reads() {
    let store = Store::new(Medium::Image, 256);
    let rig = Rig::start(&store);
    rig.client().put("/bucket", b"").expect(200);
    rig.client().put("/bucket/small", b"small").expect(200);
    let body = Arc::new(bytes(1, SIZE));
    let ended = Arc::new(AtomicU64::new(0));
    let uploads: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (client, body, ended) = (rig.client(), Arc::clone(&body), Arc::clone(&ended));
            runner::spawn("client", move || {
                let source = format!("/bucket/{number}");
                let put = client.send("PUT", &source, &[], &[], &body);
                let copy = [("x-amz-copy-source", source.as_str())];
                let path = format!("/bucket/copy{number}");
                let copied = client.send("PUT", &path, &[], &copy, b"");
                ended.fetch_add(1, Ordering::Relaxed);
                [put, copied].map(|answer| answer.map(|answer| answer.status).ok())
            })
        })
        .collect();
    while ended.load(Ordering::Relaxed) < CLIENTS {
        let begun = runner::now();
        assert_eq!(rig.client().get("/bucket/small").expect(200).body, b"small");
        let taken = runner::now().since(begun);
        assert!(taken < PATIENCE, "{taken:?} for a read of 5 bytes");
        runner::sleep(Duration::from_millis(20));
    }
    for upload in uploads {
        assert_eq!(upload.join(), [Some(200), Some(200)]);
    }
    for number in [0, CLIENTS - 1] {
        assert!(rig.client().get(&format!("/bucket/copy{number}")).expect(200).body == *body);
    }
    assert_eq!(rig.stop(), 0);
    store.check();
}
