//! [`regenerates_goldens`]: whether tests write their goldens anew. A golden is a file of the
//! project that a test compares its result with.
//!
//! A test that writes its golden passes whatever the result is. So goldens are written only when
//! `TERRACE_REGENERATE` is set, and never in CI, where the variable `CI` is set: both together are
//! a panic. `cargo xtask tidy` refuses code that reads `TERRACE_REGENERATE` elsewhere.

use std::ffi::OsStr;

/// Whether tests write their goldens anew, because `TERRACE_REGENERATE` is set.
///
/// # Panics
/// When both `TERRACE_REGENERATE` and `CI` are set: no golden could fail.
#[must_use]
pub fn regenerates_goldens() -> bool {
    let set = |name: &str| std::env::var_os(name);
    choose(set("TERRACE_REGENERATE").as_deref(), set("CI").as_deref())
}

fn choose(regenerate: Option<&OsStr>, ci: Option<&OsStr>) -> bool {
    if let (Some(found), Some(_)) = (regenerate, ci) {
        panic!("TERRACE_REGENERATE: expected to be unset in CI, found {found:?}");
    }
    regenerate.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(value: &str) -> Option<&OsStr> {
        Some(OsStr::new(value))
    }

    #[test]
    fn goldens_are_written_on_demand_only() {
        assert!(!choose(None, None));
        assert!(!choose(None, set("true")));
        assert!(choose(set("1"), None));
        // An empty value is a value: a script that sets it wants the goldens.
        assert!(choose(set(""), None));
    }

    #[test]
    #[should_panic = "TERRACE_REGENERATE: expected to be unset in CI, found \"1\""]
    fn goldens_are_not_written_in_ci() {
        choose(set("1"), set("true"));
    }
}
