//! Text is stored as it is meant, or refused with the number of its line: the output of `scan`
//! comes back exactly, and text that it never prints - byte order marks, carriage returns, control
//! characters, fields of JSON that are there twice - is not stored without a word.

use crate::program::Place;

/// A load of this text; its exit code, and all that it says.
fn load(place: &Place, text: &[u8], more: &[&str]) -> (Option<i32>, String) {
    std::fs::write(place.path().join("input"), text).unwrap();
    let output = place.run(&[&["load", "d.img", "input"], more].concat());
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

#[test]
fn the_output_of_a_scan_is_loaded_back_exactly() {
    let place = Place::formatted("64MiB", "1MiB");
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let parts: [&[u8]; 12] = [
        b"C:\\temp\\new",
        b"a\tb\r\nc\rd\n",
        b"\xef\xbb\xbfmark",
        b"\0\x01\x1b[2J\x7f\x9b",
        b"\xff\xfe\xe2\x80",
        "\u{85}\u{2028}\u{202e}\u{200b}\u{feff}\u{e0041}".as_bytes(),
        "e\u{301}\u{2764}\u{fe0f}日本語".as_bytes(),
        b"\\x41\\u{41}\\",
        b"{\"key\":\"a\"}",
        b" lead and trail ",
        b"\"quoted\", 'quoted'",
        b"\r",
    ];
    let lines: String = parts
        .iter()
        .flat_map(|key| parts.iter().map(move |value| (key, value)))
        .enumerate()
        .map(|(index, (key, value))| format!("{:02x}{}\t{}\n", index, hex(key), hex(value)))
        .collect();
    assert_eq!(load(&place, lines.as_bytes(), &["--hex"]).0, Some(0));
    let all = place.ok(&["scan", "d.img", "--values", "--hex"]);
    assert_eq!(all.lines().count(), 144);
    for (number, more) in
        [&[][..], &["--hex"], &["--json"], &["--json", "--hex"]].into_iter().enumerate()
    {
        let text = place.run(&[&["scan", "d.img", "--values"], more].concat()).stdout;
        let space = format!("copy{number}");
        let mut how =
            if more.contains(&"--json") { vec!["--format", "json"] } else { more.to_vec() };
        how.extend(["--space", &space]);
        for sorted in [None, Some("--sorted")] {
            let how: Vec<&str> = how.iter().copied().chain(sorted).collect();
            let (code, said) = load(&place, &text, &how);
            assert_eq!(code, Some(0), "{how:?}: {said}");
            assert_eq!(place.ok(&["scan", "d.img", "--values", "--hex", "--space", &space]), all);
        }
    }
}

#[test]
fn text_that_a_scan_never_prints_is_refused_with_its_line_and_flags_take_it() {
    let place = Place::formatted("64MiB", "1MiB");
    for (text, more, told) in [
        (&b"\xef\xbb\xbfa\tv\n"[..], &[][..], "line 1: expected an entry, found a byte order mark"),
        (b"a\tv\r\nb\tv\r\n", &[], "line 1: expected a line that ends with a newline alone"),
        (b"a\tv\nb\tv\r\n", &[], "line 2: expected a line that ends with a newline alone"),
        (b"a\tv\nb\tv\x1b[2J\n", &[], "line 2: expected text without control characters"),
        (b"a\tv\nb\tv\0\n", &[], "found a zero byte; it is written as `\\u{0}`"),
        (
            b"a\tv\nb\tv\tw\n",
            &[],
            "line 2: expected text without control characters, found a second tab",
        ),
        (b"a\tv\nb\t\xe9\n", &[], "line 2: expected text in UTF-8, found the byte `\\xe9`"),
        (b"a\tv\nb\n", &[], "line 2: expected a key, a tab and a value"),
        (b"a\tC:\\new\\xyz\n", &[], "line 1: expected a backslash to begin an escape"),
        (b"a\tv\r\n", &["--raw"], "line 1: expected a line that ends with a newline alone"),
        (b"61\t76\r\n", &["--hex"], "line 1: expected a line that ends with a newline alone"),
        (b"\xef\xbb\xbf{\"key\":\"a\",\"value\":\"\"}\n", &["--format", "json"], "byte order mark"),
        (
            b"{\"key\":\"a\",\"key\":\"b\",\"value\":\"\"}\n",
            &["--format", "json"],
            "line 1: expected `key` or `key_hex`",
        ),
        (b"{\"key\":\"a\",\"value\":\"\",\"x\":1}\n", &["--format", "json"], "found `x`"),
    ] {
        let (code, said) = load(&place, text, more);
        assert!(code == Some(1) && said.contains(told), "{text:?}: {code:?}: {said}");
        let none = place.run(&["get", "d.img", "b"]);
        assert_eq!(none.status.code(), Some(5), "{text:?}");
    }
    let stored = |text: &[u8], more: &[&str], key: &str, value: &[u8]| {
        let (code, said) = load(&place, text, more);
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(place.run(&["get", "d.img", key]).stdout, value, "{text:?}");
    };
    stored(b"\xef\xbb\xbfc1\tv\r\n", &["--bom", "--crlf"], "c1", b"v");
    stored(b"c2\tC:\\temp\r\n", &["--raw", "--crlf"], "c2", b"C:\\temp");
    stored(b"c3\tC:\\temp\n", &[], "c3", b"C:\temp");
    stored(b"c4\t\x1b\t\\q\xff\n", &["--raw"], "c4", b"\x1b\t\\q\xff");
    stored(b"{\"key\":\"c5\",\"value\":\"v\\r\"}\r\n", &["--format", "json"], "c5", b"v\r");
    for flag in ["--raw", "--crlf", "--hex"] {
        let (code, said) = load(&place, b"", &[flag, "--format", "json"]);
        assert!(code == Some(2) && said.contains("expected --format tsv"), "{said}");
    }
    let help = place.ok(&["load", "--help"]);
    assert!(help.contains("C:\\temp") && help.contains("\\u{1f600}  a character"), "{help}");
}
