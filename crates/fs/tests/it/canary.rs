//! Rules broken on purpose: the suites must notice.

use std::panic::{AssertUnwindSafe, catch_unwind};

use terrace_fs::canary::{Rule, set};

use crate::journal_cuts::cut_everywhere;

#[test]
fn a_journal_that_acknowledges_early_is_noticed() {
    set(Some(Rule::JournalDurableBeforeAck));
    let noticed = catch_unwind(AssertUnwindSafe(|| cut_everywhere(0, 20, 200))).is_err();
    set(None);
    assert!(noticed, "acknowledged transactions were lost and no test saw it");
    cut_everywhere(0, 20, 200);
}
