//! The macro [`canary!`](crate::canary!): for an enum whose variants name rules that the code
//! keeps. It makes the rules breakable, so that a test can break one on purpose and prove that
//! other tests notice it.
//!
//! The enum must be `Copy` and `PartialEq`. The macro defines `is_broken(rule)`, for the code that
//! has to keep the rule. If the calling crate is built with debug assertions, it also defines
//! `set(Some(rule))`, which breaks one rule for the calling thread until the next `set` on that
//! thread. Without them, as in a release, there is no `set`, and `is_broken` returns false.

/// Makes the rules of an enum breakable: `set`, if the calling crate is built with debug
/// assertions, and `is_broken`. To be called in the module of the enum.
///
/// ```
/// mod canary {
///     /// A rule that a correct store keeps.
///     #[derive(Clone, Copy, PartialEq)]
///     pub enum Rule {
///         /// Written bytes are there.
///         Kept,
///     }
///
///     terrace_env::canary!(Rule);
/// }
///
/// use canary::{Rule, is_broken};
///
/// assert!(!is_broken(Rule::Kept));
/// # #[cfg(debug_assertions)]
/// canary::set(Some(Rule::Kept));
/// # #[cfg(debug_assertions)]
/// assert!(is_broken(Rule::Kept));
/// ```
#[macro_export]
macro_rules! canary {
    ($rule:ident) => {
        #[cfg(debug_assertions)]
        mod broken {
            use std::cell::Cell;

            use super::$rule;

            thread_local! {
                static BROKEN: Cell<Option<$rule>> = const { Cell::new(None) };
            }

            /// Breaks a rule, or with `None` keeps them all again, on this thread.
            pub fn set(rule: Option<$rule>) {
                BROKEN.set(rule);
            }

            pub(crate) fn is_broken(rule: $rule) -> bool {
                BROKEN.get() == Some(rule)
            }
        }

        #[cfg(debug_assertions)]
        pub(crate) use broken::is_broken;
        #[cfg(debug_assertions)]
        pub use broken::set;

        /// Whether a rule is to be broken: never, in this build.
        #[cfg(not(debug_assertions))]
        pub(crate) const fn is_broken(_rule: $rule) -> bool {
            false
        }
    };
}
