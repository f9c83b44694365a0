//! [`Operands`]: the operator of an open engine, or the name of the operator that its store
//! expects. [`Combiner`]: the same for the keys of one key space.
//!
//! An engine without an operator takes no operand, so the name that its store remembers does not
//! change while it is open.
//!
//! Values; any thread.

use std::sync::Arc;

use super::chain::Chain;
use super::operator::{MergeKey, MergeRefused, Operator};
use crate::Error;
use crate::expiry::Shown;

/// The operator of an engine.
#[derive(Clone, Debug)]
pub(crate) enum Operands {
    /// The engine's operator.
    With(Operator),
    /// No operator. The name that the store remembers, if it has ever got an operand.
    Without(Option<Arc<str>>),
}

impl Operands {
    /// For an opening with this operator, of a store that remembers a name. `ships`: whether a
    /// shipped operator of that name may be used.
    pub(crate) fn new(
        operator: Option<&Operator>,
        ships: bool,
        remembered: Option<&Arc<str>>,
    ) -> Result<Self, Error> {
        let shipped = remembered.filter(|_| ships && operator.is_none());
        let shipped = shipped.and_then(|name| Operator::shipped(name));
        match (operator.or(shipped.as_ref()), remembered) {
            (Some(operator), Some(name)) if operator.name() != &**name => {
                let (expected, got) = (name.to_string(), operator.name().to_owned());
                Err(Error::OtherMergeOperator { expected, got })
            }
            (Some(operator), _) => Ok(Self::With(operator.clone())),
            (None, name) => Ok(Self::Without(name.cloned())),
        }
    }

    /// The operator.
    pub(crate) fn operator(&self) -> Result<&Operator, Error> {
        match self {
            Self::With(operator) => Ok(operator),
            Self::Without(name) => {
                Err(Error::NoMergeOperator { name: name.as_ref().map(ToString::to_string) })
            }
        }
    }
}

/// The operator of an engine, for the keys of one key space.
#[derive(Clone, Debug)]
pub(crate) struct Combiner {
    pub(crate) operands: Operands,
    /// The name of the key space; not looked up if there is no operator.
    pub(crate) key_space: Option<Arc<str>>,
}

impl Combiner {
    /// The combined value of the entries of a key.
    #[cold]
    pub(crate) fn combine(&self, user_key: &[u8], chain: Chain) -> Result<Shown, Error> {
        let operator = self.operands.operator()?;
        let key_space = self.key_space.as_deref().unwrap_or_default();
        let key = MergeKey { key_space, key: user_key };
        chain.combine(operator, key).map_err(|refused| refusal(operator, key, refused))
    }

    /// Checks an operand that is to be written.
    pub(crate) fn check(&self, user_key: &[u8], operand: &[u8]) -> Result<(), Error> {
        let operator = self.operands.operator()?;
        let key_space = self.key_space.as_deref().unwrap_or_default();
        let key = MergeKey { key_space, key: user_key };
        operator.check(key, operand).map_err(|refused| refusal(operator, key, refused))
    }
}

fn refusal(operator: &Operator, key: MergeKey<'_>, refused: MergeRefused) -> Error {
    let MergeKey { key_space, key } = key;
    Error::MergeRefused {
        name: operator.name().to_owned(),
        key: format!("\"{}\" in the key space {key_space:?}", key.escape_ascii()),
        reason: refused.0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::counter::Counter;
    use super::*;

    #[test]
    fn an_operator_of_another_name_is_refused_and_a_missing_one_is_named() {
        let (counter, other) = (Operator::new(Counter), Arc::from("other"));
        let new = |operator, remembered| Operands::new(operator, false, remembered);
        let error = new(Some(&counter), Some(&other)).unwrap_err().to_string();
        assert!(error.contains("other") && error.contains(Counter::NAME), "{error}");
        assert!(new(Some(&counter), None).unwrap().operator().is_ok());
        let without = new(None, Some(&other)).unwrap();
        let combiner = Combiner { operands: without, key_space: None };
        let error = combiner.combine(b"k", Chain::default()).unwrap_err().to_string();
        assert!(error.contains("other"), "{error}");
        let name = Arc::from(Counter::NAME);
        let found = |ships| Operands::new(None, ships, Some(&name)).unwrap().operator().is_ok();
        assert!(found(true) && !found(false), "a shipped one is taken where it will do");
    }

    #[test]
    fn a_refusal_names_the_operator_and_the_key() {
        let operands = Operands::With(Operator::new(Counter));
        let combiner = Combiner { operands, key_space: Some("visits".into()) };
        let mut chain = Chain::default();
        chain.push("no number".into());
        let error = combiner.combine(b"home", chain).unwrap_err().to_string();
        for part in [Counter::NAME, "visits", "home", "8 bytes"] {
            assert!(error.contains(part), "{error}");
        }
    }
}
