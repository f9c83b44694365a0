//! [`Chunks`]: a body in signed or unsigned chunks, with smaller ones.
//!
//! The library takes a whole chunk into memory before it passes the first byte on. Many clients
//! send a body as one chunk, of up to 5 GiB. So an unsigned chunk is divided into pieces, which are
//! chunks of their own. A signed chunk cannot be divided; it is refused from a size on.
//!
//! A chunk is its size in hexadecimal digits, perhaps `;` and a signature, a line end, its bytes,
//! and a line end. The chunk of size 0 is the last one; headers may come after it. Anything else is
//! passed on as it came, for the library to refuse.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use hyper::header::HeaderMap;
use s3s::StdError;

/// Most bytes of a piece.
const PIECE_MAX: u64 = 512 << 10;
/// Most bytes of a signed chunk.
const SIGNED_MAX: u64 = 16 << 20;
/// Longest line before the bytes of a chunk.
const LINE_MAX: usize = 1024;

/// See the [module](self).
pub(super) struct Chunks<T> {
    body: T,
    divider: Divider,
}

struct Divider {
    is_signed: bool,
    state: State,
    /// Bytes to be passed on.
    out: VecDeque<Bytes>,
}

enum State {
    /// The line before a chunk, as far as it has come.
    Line(Vec<u8>),
    /// Bytes that are passed on, to a line.
    Copied(u64),
    /// Bytes of a chunk that is divided, and those of them that belong to the piece.
    Divided { left: u64, piece: u64 },
    /// The rest, which is passed on.
    Rest,
}

/// Whether a body comes in chunks, and whether these are signed.
pub(super) fn kind_of(headers: &HeaderMap) -> Option<bool> {
    let kind = headers.get("x-amz-content-sha256")?.as_bytes();
    let kind = kind.strip_prefix(b"STREAMING-")?;
    Some(!kind.starts_with(b"UNSIGNED-"))
}

impl<T> Chunks<T> {
    pub(super) fn new(body: T, is_signed: bool) -> Self {
        let state = State::Line(Vec::new());
        Self { body, divider: Divider { is_signed, state, out: VecDeque::new() } }
    }
}

impl Divider {
    /// Takes bytes of the body.
    fn take(&mut self, mut bytes: Bytes) -> Result<(), StdError> {
        while !bytes.is_empty() {
            match &mut self.state {
                State::Line(line) => {
                    let end = bytes.iter().position(|&byte| byte == b'\n');
                    line.extend_from_slice(&bytes.split_to(end.map_or(bytes.len(), |at| at + 1)));
                    if end.is_some() || line.len() > LINE_MAX {
                        let line = std::mem::take(line);
                        self.begin(line.into())?;
                    }
                }
                State::Copied(left) => {
                    let now = (*left).min(bytes.len() as u64);
                    *left -= now;
                    let is_over = *left == 0;
                    self.out.push_back(bytes.split_to(now as usize));
                    if is_over {
                        self.state = State::Line(Vec::new());
                    }
                }
                State::Divided { left, piece } => {
                    if *piece == 0 {
                        *piece = (*left).min(PIECE_MAX);
                        self.out.push_back(format!("{piece:x}\r\n").into());
                    }
                    let now = (*piece).min(bytes.len() as u64);
                    (*left, *piece) = (*left - now, *piece - now);
                    self.out.push_back(bytes.split_to(now as usize));
                    match (*left, *piece) {
                        (0, _) => self.state = State::Copied(2),
                        (_, 0) => self.out.push_back(Bytes::from_static(b"\r\n")),
                        _ => {}
                    }
                }
                State::Rest => self.out.push_back(std::mem::take(&mut bytes)),
            }
        }
        Ok(())
    }

    /// Begins a chunk by its line.
    fn begin(&mut self, line: Bytes) -> Result<(), StdError> {
        self.state = match size_in(&line) {
            None | Some(0) => State::Rest,
            Some(size) if self.is_signed && size > SIGNED_MAX => {
                return Err(format!(
                    "expected a signed chunk of at most {SIGNED_MAX} bytes, found one of {size}"
                )
                .into());
            }
            Some(size) if !self.is_signed && size > PIECE_MAX => {
                self.state = State::Divided { left: size, piece: 0 };
                return Ok(());
            }
            Some(size) => State::Copied(size + 2),
        };
        self.out.push_back(line);
        Ok(())
    }
}

/// The size of a chunk in its line.
fn size_in(line: &[u8]) -> Option<u64> {
    let end = line.iter().position(|byte| b";\r".contains(byte))?;
    let digits = std::str::from_utf8(&line[..end]).ok()?;
    let is_size = (1..=8).contains(&end) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_size.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

impl<T: Body<Data = Bytes, Error = StdError> + Unpin> Body for Chunks<T> {
    type Data = Bytes;
    type Error = StdError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StdError>>> {
        loop {
            if let Some(bytes) = self.divider.out.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(bytes))));
            }
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                other => return Poll::Ready(other),
            };
            match frame.into_data() {
                Ok(bytes) => self.divider.take(bytes)?,
                Err(frame) => return Poll::Ready(Some(Ok(frame))),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.divider.out.is_empty() && self.body.is_end_stream()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(is_signed: bool, body: &[u8], by: usize) -> Result<Vec<u8>, StdError> {
        let state = State::Line(Vec::new());
        let mut divider = Divider { is_signed, state, out: VecDeque::new() };
        for bytes in body.chunks(by) {
            divider.take(Bytes::copy_from_slice(bytes))?;
        }
        Ok(Vec::from(divider.out).concat())
    }

    fn chunk(size: usize) -> Vec<u8> {
        let content: Vec<u8> = (0..size).map(|at| (at * 7 % 251) as u8).collect();
        [format!("{size:x}\r\n").as_bytes(), &content, b"\r\n"].concat()
    }

    #[test]
    fn a_large_chunk_becomes_pieces_with_the_same_bytes() {
        let piece = PIECE_MAX as usize;
        let end = b"0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n";
        let body = [&chunk(2 * piece + 5)[..], &chunk(9), &chunk(piece), end].concat();
        for by in [1, 7, 4096, body.len()] {
            let made = divided(false, &body, by).unwrap();
            let (mut rest, mut content, mut sizes) = (&made[..], Vec::new(), Vec::new());
            while !rest.starts_with(b"0\r\n") {
                let at = rest.iter().position(|&byte| byte == b'\r').unwrap();
                let size = size_in(&rest[..=at]).unwrap() as usize;
                let (bytes, after) = rest[at + 2..].split_at(size);
                content.extend_from_slice(bytes);
                rest = after.strip_prefix(b"\r\n").unwrap();
                sizes.push(size);
            }
            assert_eq!(sizes, [piece, piece, 5, 9, piece], "by {by}");
            assert_eq!(rest, end);
            let whole = [chunk(2 * piece + 5), chunk(9), chunk(piece)];
            let meant = whole.map(|one| {
                let at = one.iter().position(|&byte| byte == b'\n').unwrap();
                one[at + 1..one.len() - 2].to_vec()
            });
            assert!(content == meant.concat(), "by {by}");
        }
    }

    #[test]
    fn a_signed_chunk_stays_whole_and_is_limited() {
        let line = b"80001;chunk-signature=ab\r\n";
        let body = [&line[..], &vec![7u8; 0x80001], b"\r\n0;chunk-signature=cd\r\n\r\n"].concat();
        assert!(divided(true, &body, 1000).unwrap() == body);
        let large = format!("{:x};chunk-signature=ab\r\n", SIGNED_MAX + 1);
        assert!(divided(true, large.as_bytes(), 100).is_err());
        let largest = format!("{SIGNED_MAX:x};chunk-signature=ab\r\n");
        assert!(divided(true, largest.as_bytes(), 100).is_ok());
    }

    #[test]
    fn bytes_that_are_no_chunks_are_passed_on() {
        for body in ["no chunk\r\n", "fffffffff\r\nx", "\r\n", "+5\r\nabcde\r\n", "5"] {
            let made = divided(false, body.as_bytes(), 3).unwrap();
            assert!(body.as_bytes().starts_with(&made), "{body}");
        }
        let long = vec![b'a'; 3000];
        assert_eq!(divided(false, &long, 100).unwrap(), long);
    }

    #[test]
    fn the_kind_is_in_a_header() {
        let of = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("x-amz-content-sha256", value.parse().unwrap());
            kind_of(&headers)
        };
        assert_eq!(of("STREAMING-UNSIGNED-PAYLOAD-TRAILER"), Some(false));
        assert_eq!(of("STREAMING-AWS4-HMAC-SHA256-PAYLOAD"), Some(true));
        assert_eq!(of("UNSIGNED-PAYLOAD"), None);
    }
}
