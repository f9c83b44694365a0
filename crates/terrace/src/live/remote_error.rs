//! Errors that one process sends to the other: kind and text, in JSON. An error that cannot be
//! read, or whose kind this version does not know, is one of the kind [`ErrorKind::Io`].

use serde::{Deserialize, Serialize};

use super::frame::FRAME_MAX;
use crate::{Error, ErrorKind};

/// The most bytes of a text. JSON may write six for one.
const TEXT_MAX: usize = FRAME_MAX / 8;

/// An error in its sent form.
#[derive(Serialize, Deserialize)]
struct Sent {
    kind: String,
    origin: String,
    text: String,
}

/// All kinds. One that is missing here is sent as [`ErrorKind::Io`].
const KINDS: [ErrorKind; 22] = [
    ErrorKind::NoSpace,
    ErrorKind::HostFull,
    ErrorKind::Corruption,
    ErrorKind::Unsupported,
    ErrorKind::UnknownSystem,
    ErrorKind::Option,
    ErrorKind::TooLarge,
    ErrorKind::MergeOperator,
    ErrorKind::OutOfOrder,
    ErrorKind::UnknownKeySpace,
    ErrorKind::OtherStore,
    ErrorKind::TargetNotEmpty,
    ErrorKind::UnfinishedCopy,
    ErrorKind::ReadOnly,
    ErrorKind::Closed,
    ErrorKind::InUse,
    ErrorKind::Moved,
    ErrorKind::NotFound,
    ErrorKind::Invalid,
    ErrorKind::Stopped,
    ErrorKind::Io,
    ErrorKind::Bug,
];

/// The payload for an error.
pub(crate) fn encode(error: &Error) -> Vec<u8> {
    let name = |kind: ErrorKind| format!("{kind:?}");
    let mut text = error.to_string();
    while text.len() > TEXT_MAX {
        text.pop();
    }
    let sent = Sent { kind: name(error.kind()), origin: name(error.origin()), text };
    serde_json::to_vec(&sent).unwrap_or_default()
}

/// The error of a payload.
pub(crate) fn decode(payload: &[u8]) -> Error {
    let kind = |name: &str| {
        KINDS.into_iter().find(|kind| format!("{kind:?}") == name).unwrap_or(ErrorKind::Io)
    };
    match serde_json::from_slice::<Sent>(payload) {
        Ok(Sent { kind: of, origin, text }) => Error::of_owner(kind(&of), kind(&origin), text),
        Err(error) => {
            let text = format!("expected an error of the process that has the store open: {error}");
            Error::of_owner(ErrorKind::Io, ErrorKind::Io, text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_arrives_with_its_kind_and_its_text() {
        for kind in KINDS {
            let sent =
                Error::of_owner(kind, ErrorKind::Corruption, "expected 1, found 2".to_owned());
            let found = decode(&encode(&sent));
            assert_eq!((found.kind(), found.origin()), (kind, ErrorKind::Corruption));
            assert_eq!(found.to_string(), "expected 1, found 2");
        }
    }

    #[test]
    fn a_payload_that_is_no_error_or_of_an_unknown_kind_is_one_of_the_medium() {
        assert_eq!(decode(b"{").kind(), ErrorKind::Io);
        let newer = br#"{"kind":"OfTomorrow","origin":"x","text":"expected"}"#;
        assert_eq!(decode(newer).kind(), ErrorKind::Io);
    }

    #[test]
    fn a_long_text_fits_a_frame() {
        let text = "\u{1}".repeat(FRAME_MAX);
        let sent = encode(&Error::of_owner(ErrorKind::Io, ErrorKind::Io, text));
        assert!(sent.len() < FRAME_MAX, "{}", sent.len());
    }
}
