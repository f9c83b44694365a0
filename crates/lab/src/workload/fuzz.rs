//! Damaged traces of operations.

use terrace_fuzz::{Target, fuzz};

use super::{Trace, TraceWriter};

/// Requests that were read are written to a trace from which the same are read.
#[test]
fn traces() {
    let specimens = [
        "terrace-trace 1\nkeys hashed\nread 7\nupdate 8 100\ninsert 9 0\n# note\n\nscan 1 20\n",
        "terrace-trace 2\nkeys numbered\n0 read 7\n5 modify 8 100\n5 delete 9\nread 3\n",
    ];
    let specimens = specimens.map(|text| text.as_bytes().to_vec()).to_vec();
    let target = Target::recoding("trace", specimens, |input| {
        let mut reader = Trace::new(input).ok()?;
        let (order, mut written) = (reader.order(), Vec::new());
        let writer = match reader.has_arrivals() {
            true => TraceWriter::with_arrivals(&mut written, order),
            false => TraceWriter::new(&mut written, order),
        };
        let mut writer = writer.expect("room in memory");
        while let Some(request) = reader.next_request().ok()? {
            writer.write(request).expect("room in memory");
        }
        Some(written)
    });
    fuzz!(target.memory(256 << 10, 32));
}
