//! Damaged images: the header, and the entry of a zone.

use std::path::Path;

use terrace_env::ZoneId;
use terrace_env::checksum::crc32c;
use terrace_fuzz::{Target, fuzz, specimens_in};

use super::image::{ENTRY, HEADER, Header};

/// Headers of all versions, and of drives without zones.
fn headers() -> Vec<Vec<u8>> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    specimens_in(&golden, "image-")
        .into_iter()
        .map(|image| image[..HEADER as usize].to_vec())
        .collect()
}

fn mend(input: &mut Vec<u8>) {
    input.resize(HEADER as usize, 0);
    let end = input.len() - 4;
    let crc = crc32c(&input[..end]);
    input[end..].copy_from_slice(&crc.to_le_bytes());
}

#[test]
fn headers_of_images() {
    let target = Target::recoding("header of an image", headers(), |input| {
        assert!(Header::is_meant(input) || Header::decode(input).is_err());
        Some(Header::decode(input).ok()?.encode())
    });
    fuzz!(target.mending(mend).with_seeds(10_000));
}

/// An input is the entry of zone 1.
#[test]
fn entries_of_zones() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let image = specimens_in(&golden, "image-3").remove(0);
    let header = Header::decode(&image).unwrap();
    let first = HEADER as usize;
    let entry = image[first + ENTRY as usize..first + 2 * ENTRY as usize].to_vec();
    let mending = header.clone();
    let decode = move |input: &[u8]| {
        let entry = input.first_chunk::<{ ENTRY as usize }>().filter(|_| input.len() == 16)?;
        let status = header.decode_entry(ZoneId(1), entry).ok()??;
        let encoded = header.encode_entry(ZoneId(1), status).to_vec();
        Some(encoded)
    };
    let target = Target::recoding("entry of a zone", vec![entry], decode);
    fuzz!(target.mending(move |input| {
        if let Some(entry) = input.first_chunk_mut::<{ ENTRY as usize }>() {
            let crc = mending.entry_crc(ZoneId(1), entry);
            entry[4..8].copy_from_slice(&crc.to_le_bytes());
        }
    }));
}
