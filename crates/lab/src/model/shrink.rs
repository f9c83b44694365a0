//! [`shrink`]: makes a failing script short (delta debugging: Zeller and Hildebrandt, "Simplifying
//! and isolating failure-inducing input", 2002).
//!
//! 1. Leave out a chunk of operations if the script still fails without it. Try all chunks, then
//!    smaller ones, down to single operations.
//! 2. Do the same with the changes of each batch.
//!
//! The script given must fail, and a script must always fail or always pass. The result may fail
//! for another reason than the script given. A shorter one may exist, also because the number of
//! plays is limited.

use super::operation::Operation;

/// The shortest script found with at most `tries` plays; `fails` plays one.
#[must_use]
pub fn shrink(
    script: Vec<Operation>,
    tries: usize,
    mut fails: impl FnMut(&[Operation]) -> bool,
) -> Vec<Operation> {
    let mut left = tries;
    let mut check = |candidate: &[Operation]| {
        let may = left > 0;
        left = left.saturating_sub(1);
        may && fails(candidate)
    };
    let mut script = without_chunks(script, &mut check);
    for at in 0..script.len() {
        let Operation::Write { changes, synced } = script[at].clone() else { continue };
        let with = |changes: &[_]| {
            let mut candidate = script.clone();
            candidate[at] = Operation::Write { changes: changes.to_vec(), synced };
            candidate
        };
        let fewer = without_chunks(changes, &mut |changes: &[_]| check(&with(changes)));
        script = with(&fewer);
    }
    script
}

/// Leaves out ever smaller chunks while the rest still fails.
fn without_chunks<T: Clone>(mut items: Vec<T>, fails: &mut impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut chunk = items.len().div_ceil(2);
    while chunk > 0 && !items.is_empty() {
        let (mut at, before) = (0, items.len());
        while at < items.len() {
            let end = (at + chunk).min(items.len());
            let rest = [&items[..at], &items[end..]].concat();
            if fails(&rest) {
                items = rest;
            } else {
                at = end;
            }
        }
        if chunk == 1 && items.len() == before {
            break;
        }
        chunk = if chunk == 1 { 1 } else { chunk.div_ceil(2) };
    }
    items
}

#[cfg(test)]
mod tests {
    use super::super::{Change, KeyNumber, Kind, script};
    use super::*;

    #[test]
    fn a_script_shrinks_to_the_operations_that_matter() {
        let deletes = |op: &Operation| match op {
            Operation::Write { changes, .. } => {
                changes.iter().any(|change| matches!(change, Change::Delete { .. }))
            }
            _ => false,
        };
        let fails = |script: &[Operation]| {
            let flush = script.iter().position(|op| *op == Operation::Flush);
            flush.is_some_and(|at| script[at..].iter().any(deletes))
        };
        let small = shrink(script(3, 400, Kind::Everything), 10_000, fails);
        assert_eq!(small.len(), 2, "{small:?}");
        assert!(matches!(&small[1], Operation::Write { changes, .. } if changes.len() == 1));
    }

    #[test]
    fn a_script_is_left_alone_when_there_are_no_tries() {
        let put = Change::Put { space: 0, key: KeyNumber(1), size: 1, tag: 1 };
        let script = vec![Operation::Write { changes: vec![put], synced: true }; 3];
        assert_eq!(shrink(script.clone(), 0, |_| true), script);
    }
}
