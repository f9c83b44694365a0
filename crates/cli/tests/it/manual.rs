//! Tests of the program's own documentation: manual pages, completions for each shell, and the
//! exit codes in its help.

use crate::program::Place;

#[test]
fn every_command_has_a_manual_page() {
    let place = Place::new();
    place.ok(&["man", "pages"]);
    for page in ["terrace.1", "terrace-device.1", "terrace-device-create.1", "terrace-man.1"] {
        let text = std::fs::read_to_string(place.path().join("pages").join(page)).unwrap();
        assert!(text.contains(".SH NAME"), "{page}");
    }
}

#[test]
fn completions_are_printed_for_each_shell() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(place.ok(&["completions", shell]).contains("device"), "{shell}");
    }
}

#[test]
fn the_help_of_a_second_drive_is_about_what_the_command_does_with_it() {
    let place = Place::new();
    let words = |command: &str| {
        let text = place.ok(&[command, "--help"]);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let (format, put, forget) = (words("format"), words("put"), words("forget-offload"));
    assert!(put.contains("The plain drive that holds the store's journal"), "{put}");
    for text in [&format, &forget] {
        assert!(!text.contains("no longer where it was"), "{text}");
    }
    for text in ["Give the store this plain drive for its journal", "flushes go there"] {
        assert!(format.contains(text), "{format}");
    }
    assert!(!forget.contains("--log"), "{forget}");
    // Tables that share no key stay in several runs under some systems.
    assert!(words("compact").contains("until no key is in several runs"));
}

#[test]
fn the_help_lists_the_exit_codes() {
    let help = Place::new().ok(&["--help"]);
    assert!(help.contains("3  corruption"), "{help}");
}
