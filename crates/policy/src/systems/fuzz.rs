//! Damaged lists of parameters of a system: a name, and `name=value` for each parameter.

use terrace_fuzz::{Target, fuzz};

use super::System;

/// An accepted list prints as a list that gives the same system.
#[test]
fn lists_of_parameters() {
    let systems = System::all().into_iter().map(|system| system.to_string().into_bytes());
    let mut specimens: Vec<_> = systems.collect();
    for parameters in [
        "table_size=12345",
        "table_size=2097152,throttle=off",
        "level0_slow=3,level0_stop=9",
        "load=aware,rewrite_max=2.5",
    ] {
        let with = |system: System| format!("{}:{parameters}", system.name());
        let lists = System::all().into_iter().map(with);
        let accepted = lists.filter(|list| list.parse::<System>().is_ok());
        specimens.extend(accepted.map(String::into_bytes));
    }
    fuzz!(Target::recoding("parameters of a system", specimens, |input| {
        let text = std::str::from_utf8(input).ok()?;
        let _ = System::asked(text);
        let system: System = text.parse().ok()?;
        assert_eq!(system.to_string().parse(), Ok(system));
        Some(system.to_string().into_bytes())
    }));
}
