//! Damaged processes of arrivals, and files of instants.

use terrace_fuzz::{Target, fuzz};

use super::{Process, read_instants, write_instants};

/// Accepted processes have a rate. Curves are left out, because they are read from a file.
#[test]
fn processes() {
    let specimens = [
        "constant:5",
        "poisson:1000.5",
        "b-model:100,bias=0.75,span=600s",
        "sine:100,amplitude=0.5,period=60s,step=1s,gaps=pareto,shape=1.5",
    ];
    let specimens = specimens.map(|text| text.as_bytes().to_vec()).to_vec();
    fuzz!(Target::decoding("process of arrivals", specimens, |input| {
        let Ok(text) = std::str::from_utf8(input) else { return false };
        if text.starts_with("curve") {
            return false;
        }
        let Ok(process) = text.parse::<Process>() else { return false };
        assert!(process.rate().is_finite() && process.rate() > 0.0, "{text}");
        true
    }));
}

#[test]
fn files_of_instants() {
    let specimens = vec![b"# arrivals in nanoseconds: x\n0\n7\n7\n1152921504606846976\n".to_vec()];
    fuzz!(Target::recoding("file of instants", specimens, |input| {
        let instants = read_instants(input).ok()?;
        assert!(instants.is_sorted());
        let mut written = Vec::new();
        write_instants(&mut written, "x", instants).unwrap();
        Some(written)
    }));
}
