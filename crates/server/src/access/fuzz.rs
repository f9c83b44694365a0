//! Damaged files of keys.

use terrace_fuzz::{Target, fuzz};

use super::Keys;

/// An error does not show a secret.
#[test]
fn files_of_keys() {
    let specimens = vec![
        b"[[key]]\naccess = 'a'\nsecret = '0123456789abcdef'\nbuckets = { x = 'write' }\n\n\
          [[key]]\naccess = 'b'\nsecret = 'fedcba9876543210'\nbuckets = { '*' = 'read' }\n"
            .to_vec(),
    ];
    let target = Target::decoding("file of keys", specimens, |input| {
        let Ok(text) = std::str::from_utf8(input) else { return false };
        match Keys::parse(text) {
            Ok(keys) => !keys.is_empty(),
            Err(error) => {
                let told = error.to_string();
                assert!(!told.contains("0123456789abcdef") || !text.contains("secret"), "{told}");
                false
            }
        }
    });
    fuzz!(target.memory(1 << 20, 256).with_seeds(10_000));
}
