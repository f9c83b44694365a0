//! [`Client`]: sends requests over one connection each, signed by version 4 if it has a key. The
//! signature has the headers `x-amz-*` and `range`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use terrace_env::runner;

/// See the [module](self).
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    pub(crate) key: Option<(String, String)>,
}

/// An answer, with the names of headers in lower case.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Texts of an element of XML.
    pub(crate) fn all(&self, element: &str) -> Vec<String> {
        let (begin, end) = (format!("<{element}>"), format!("</{element}>"));
        let text = self.text();
        let parts = text.split(&begin).skip(1);
        parts.filter_map(|part| part.split_once(&end)).map(|(text, _)| text.to_owned()).collect()
    }

    /// Checks the status.
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }
}

/// The header with the digest of a body, or the way in which it comes.
const DIGEST: &str = "x-amz-content-sha256";

/// A text in a URL; `/` is kept in paths.
pub(crate) fn encoded(text: &str, is_path: bool) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || (is_path && byte == b'/') {
            encoded.push(byte.into());
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

fn hex(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// Date and time as signatures have them.
fn date_and_time() -> String {
    let seconds = runner::date().0 / 1000;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days since March of the year 0, in eras of 400 years.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day + 2) / 153;
    let day = day - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

impl Client {
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], &[], b"").expect("an answer")
    }

    pub(crate) fn put(&self, path: &str, body: &[u8]) -> Answer {
        self.send("PUT", path, &[], &[], body).expect("an answer")
    }

    pub(crate) fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &[], &[], b"").expect("an answer")
    }

    /// The same with a query.
    pub(crate) fn ask(&self, method: &str, path: &str, query: &[(&str, &str)]) -> Answer {
        self.send(method, path, query, &[], b"").expect("an answer")
    }

    /// Sends a request, and reads its answer.
    pub(crate) fn send(
        &self,
        method: &str,
        path: &str,
        query: &[(&str, &str)],
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<Answer> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        stream.write_all(self.head(method, path, query, headers, body.len(), body).as_bytes())?;
        // A server that refuses a request may not read its body.
        let sent = stream.write_all(body);
        let answer = read_answer(&mut stream, method);
        if answer.is_err() { sent.and(answer) } else { answer }
    }

    /// The head of a request for `length` bytes, whose digest is that of `body`, or a header's.
    pub(crate) fn head(
        &self,
        method: &str,
        path: &str,
        query: &[(&str, &str)],
        headers: &[(&str, &str)],
        length: usize,
        body: &[u8],
    ) -> String {
        let path = encoded(path, true);
        let mut pairs: Vec<String> = query
            .iter()
            .map(|(name, value)| format!("{}={}", encoded(name, false), encoded(value, false)))
            .collect();
        pairs.sort();
        let query = pairs.join("&");
        let target = if query.is_empty() { path.clone() } else { format!("{path}?{query}") };
        let mut head = format!(
            "{method} {target} HTTP/1.1\r\nhost: {}\r\ncontent-length: {length}\r\n\
             connection: close\r\n",
            self.address
        );
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        if let Some((access, secret)) = &self.key {
            let (time, digest) = (date_and_time(), hex(Sha256::digest(body)));
            let day = &time[..8];
            let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            let is_signed = |name: &str| name.starts_with("x-amz-") || name == "range";
            let ours = headers.iter().filter(|(name, _)| is_signed(name));
            let mut ours: BTreeMap<String, String> = ours.map(own).collect();
            ours.insert("host".into(), self.address.to_string());
            if !ours.contains_key(DIGEST) {
                let _ = write!(head, "{DIGEST}: {digest}\r\n");
            }
            let digest = ours.entry(DIGEST.into()).or_insert(digest).clone();
            ours.insert("x-amz-date".into(), time.clone());
            let signed = ours.keys().cloned().collect::<Vec<_>>().join(";");
            let lines: String =
                ours.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
            let canonical = format!("{method}\n{path}\n{query}\n{lines}\n{signed}\n{digest}");
            let scope = format!("{day}/us-east-1/s3/aws4_request");
            let text =
                format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex(Sha256::digest(canonical)));
            let signature = hex(hmac(&signing_key(secret, day), &text));
            let _ = write!(
                head,
                "x-amz-date: {time}\r\nauthorization: AWS4-HMAC-SHA256 \
                 Credential={access}/{scope}, SignedHeaders={signed}, \
                 Signature={signature}\r\n"
            );
        }
        head + "\r\n"
    }
}

impl Client {
    /// The query of a presigned URL, whose signature has no header but `Host`.
    pub(crate) fn presigned(
        &self,
        method: &str,
        path: &str,
        query: &[(&str, &str)],
    ) -> Vec<(String, String)> {
        let (access, secret) = self.key.as_ref().expect("a key");
        let time = date_and_time();
        let day = &time[..8];
        let scope = format!("{day}/us-east-1/s3/aws4_request");
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut query: Vec<(String, String)> = query.iter().map(own).collect();
        let credential = format!("{access}/{scope}");
        for (name, value) in [
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
            ("X-Amz-Credential", &credential),
            ("X-Amz-Date", &time),
            ("X-Amz-Expires", "60"),
            ("X-Amz-SignedHeaders", "host"),
        ] {
            query.push((name.to_owned(), value.to_owned()));
        }
        let pair = |(name, value): &(String, String)| {
            format!("{}={}", encoded(name, false), encoded(value, false))
        };
        let mut pairs: Vec<String> = query.iter().map(pair).collect();
        pairs.sort();
        let (path, pairs, host) = (encoded(path, true), pairs.join("&"), self.address);
        let canonical = format!("{method}\n{path}\n{pairs}\nhost:{host}\n\nhost\nUNSIGNED-PAYLOAD");
        let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex(Sha256::digest(canonical)));
        let signature = hex(hmac(&signing_key(secret, day), &text));
        query.push(("X-Amz-Signature".to_owned(), signature));
        query
    }
}

fn signing_key(secret: &str, day: &str) -> Vec<u8> {
    let key = format!("AWS4{secret}").into_bytes();
    let parts = [day, "us-east-1", "s3", "aws4_request"];
    parts.into_iter().fold(key, |key, part| hmac(&key, part))
}

/// Reads an answer, up to its announced length.
pub(crate) fn read_answer(stream: &mut TcpStream, method: &str) -> io::Result<Answer> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let broken = || io::Error::new(io::ErrorKind::UnexpectedEof, "no whole answer");
    let status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).ok_or_else(broken)?;
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(broken());
        }
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let mut body = Vec::new();
    let length = headers.get("content-length").and_then(|length| length.parse::<u64>().ok());
    match length {
        _ if method == "HEAD" || status == 304 || status == 204 => {}
        Some(length) => {
            reader.take(length).read_to_end(&mut body)?;
            if body.len() as u64 != length {
                return Err(broken());
            }
        }
        None => {
            reader.read_to_end(&mut body)?;
        }
    }
    Ok(Answer { status, headers, body })
}
