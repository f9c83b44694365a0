//! Damaged payloads of the journal's frames. The first byte of an input is the frame's type.

use terrace_env::FileId;
use terrace_fuzz::{Target, fuzz};

use super::payload::{Continue, End, Head, Link, kind};
use crate::BlockAddr;
use crate::superblock::Features;

#[test]
fn payloads() {
    let features = Features { compat: 1, read_only_compat: 2, incompat: 3 };
    let of = |kind: u8, payload: Vec<u8>| [&[kind], &payload[..]].concat();
    let (addr, chain) = (BlockAddr::from_bits(77), 0xdead_beef);
    let specimens = vec![
        of(kind::HEAD, Head { features, next_file: FileId(9), next_epoch: 2 }.encode()),
        of(kind::END, End { files: 3 }.encode()),
        of(kind::LINK, Link { to: addr }.encode()),
        of(kind::CONTINUE, Continue { from: addr, chain }.encode()),
    ];
    fuzz!(Target::recoding("payloads of the journal", specimens, |input| {
        let (first, payload) = input.split_first()?;
        let encoded = match *first {
            kind::HEAD => Head::decode(payload).ok()?.encode(),
            kind::END => End::decode(payload).ok()?.encode(),
            kind::LINK => Link::decode(payload).ok()?.encode(),
            kind::CONTINUE => Continue::decode(payload).ok()?.encode(),
            _ => return None,
        };
        assert_eq!(encoded, payload);
        Some([&[*first], &encoded[..]].concat())
    }));
}
