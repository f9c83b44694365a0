//! [`Quotes`]: checks the quotes of comma-separated values, line by line: only a comma, or the end
//! of the line, follows the quote that closes a field (RFC 4180).
//!
//! `csv-core` would go on with the field. A row of a program that does not double the quotes in its
//! texts would then have other bytes than that program meant.

use super::format::wrong;
use crate::escape::Escaped;
use crate::failure::Failure;

/// Mark that some programs write before the first row.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Quotes {
    place: Place,
    has_begun: bool,
}

/// A place in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// A field begins.
    #[default]
    Begin,
    /// In a field without quotes, in which a quote is a byte like others.
    Plain,
    /// In a field in quotes.
    Quoted,
    /// After a quote in such a field: the first of two, or the one that closes the field.
    AfterQuote,
}

impl Quotes {
    /// Checks the next line, without its newline.
    pub(super) fn line(&mut self, line: &[u8]) -> Result<(), Failure> {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let line = line.strip_prefix(BYTE_ORDER_MARK).filter(|_| is_first).unwrap_or(line);
        let returns = line.iter().rev().take_while(|&&byte| byte == b'\r').count();
        let line = &line[..line.len() - returns];
        for (at, &byte) in line.iter().enumerate() {
            self.place = match (self.place, byte) {
                (Place::Begin, b'"') | (Place::AfterQuote, b'"') => Place::Quoted,
                (Place::Quoted, b'"') => Place::AfterQuote,
                (Place::Quoted, _) => Place::Quoted,
                (_, b',') => Place::Begin,
                (Place::Begin | Place::Plain, _) => Place::Plain,
                (Place::AfterQuote, _) => {
                    let rest = &line[at..];
                    return Err(wrong(format_args!(
                        "a comma or the end of the row after the closing quote of a field, found \
                         `{}`; a quote in such a field is written twice",
                        Escaped(&rest[..rest.len().min(20)])
                    )));
                }
            };
        }
        if self.place != Place::Quoted {
            self.place = Place::Begin;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_close_a_field_at_its_end_alone() {
        let check = |lines: &[&[u8]]| {
            let mut quotes = Quotes::default();
            lines.iter().try_for_each(|line| quotes.line(line)).map_err(|failure| failure.message)
        };
        for lines in [
            &[&b"5,\"a \"\"word\"\", b\",x"[..]][..],
            &[b"5,\"a", b"\"\"b,", b"c\",x\r", b"6,\"\",\"y\""],
            &[b"5,a\"b,c\""],
            &[b"\xef\xbb\xbf\"id, or so\",\"n", b"m\""],
        ] {
            assert_eq!(check(lines), Ok(()));
        }
        for (lines, found) in [
            (&[&b"5,\"He said \"hi\" there\""[..]][..], "found `hi\" there\"`"),
            (&[b"6,\"a\"b"], "found `b`"),
            (&[b"6,\"a", b"b\" ,x"], "found ` ,x`"),
        ] {
            let message = check(lines).unwrap_err();
            assert!(message.contains(found), "{message}");
        }
    }
}
