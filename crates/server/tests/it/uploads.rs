//! Uploads of many clients at once, to a drive with few open zones.

use std::thread;
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
    let body = bytes(1, SIZE);
    thread::scope(|scope| {
        let uploads: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (client, body) = (rig.client(), &body);
                scope.spawn(move || {
                    client.put(&format!("/bucket/{number}"), body).expect(200);
                    let source = format!("/bucket/{number}");
                    let copy = [("x-amz-copy-source", source.as_str())];
                    let path = format!("/bucket/copy{number}");
                    client.send("PUT", &path, &[], &copy, b"").expect("an answer").expect(200);
                })
            })
            .collect();
        while !uploads.iter().all(thread::ScopedJoinHandle::is_finished) {
            let begun = runner::now();
            assert_eq!(rig.client().get("/bucket/small").expect(200).body, b"small");
            let taken = runner::now().since(begun);
            assert!(taken < PATIENCE, "{taken:?} for a read of 5 bytes");
            thread::sleep(Duration::from_millis(20));
        }
    });
    for number in [0, CLIENTS - 1] {
        assert!(rig.client().get(&format!("/bucket/copy{number}")).expect(200).body == body);
    }
    assert_eq!(rig.stop(), 0);
    store.check();
}
