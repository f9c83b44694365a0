//! Damaged requests of the live window's clients, and errors of its owner.

use terrace_fuzz::{Target, fuzz};
use terrace_lsm::TableComparison;

use super::remote_error;
use super::request::{Request, ScanRequest};
use crate::ErrorKind;

#[test]
fn requests() {
    let scan = ScanRequest {
        space: "a".to_owned(),
        from: b"f".to_vec(),
        to: Some(b"g".to_vec()),
        reverse: true,
        limit: 3,
        values: false,
    };
    let requests = [
        Request::Snapshot { events_after: 9 },
        Request::Zones,
        Request::Get { space: "users".to_owned(), key: b"key".to_vec() },
        Request::Scan(ScanRequest { to: None, ..scan.clone() }),
        Request::Scan(scan),
        Request::Checkpoint,
        Request::Backup(TableComparison::Whole),
    ];
    let specimens = requests.iter().map(Request::encode).collect();
    fuzz!(Target::recoding("request of the live window", specimens, |input| {
        Some(Request::decode(input).ok()?.encode())
    }));
}

#[test]
fn errors_of_the_owner() {
    let sent = |kind, text: &str| {
        let error = crate::Error::of_owner(kind, ErrorKind::Io, text.to_owned());
        remote_error::encode(&error)
    };
    let specimens = vec![
        sent(ErrorKind::Io, "expected 1, found 2"),
        sent(ErrorKind::Invalid, "\u{1f600} \\ \" \u{0}"),
    ];
    let target = Target::recoding("error of the owner", specimens, |input| {
        let error = remote_error::decode(input);
        let is_of_owner = serde_json::from_slice::<serde_json::Value>(input).is_ok();
        is_of_owner.then(|| remote_error::encode(&error))
    });
    fuzz!(target);
}
