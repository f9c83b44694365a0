//! Versions of crates, as `Cargo.lock` has them.

/// The version of a crate that this program was built with.
pub(super) fn version(name: &str) -> String {
    let lock = include_str!("../../Cargo.lock");
    let place = format!("name = \"{name}\"\nversion = \"");
    let rest = lock.split_once(&place).map_or("", |(_, rest)| rest);
    rest.split('"').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_version_of_a_crate_is_found() {
        assert!(super::version("redb").starts_with("4."));
        assert_eq!(super::version("no crate"), "");
    }
}
