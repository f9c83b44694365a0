//! The command line of `terrace-serve`.

use std::env;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use terrace::ByteCount;

use crate::access::{Keys, KeysError};
use crate::server::ServerOptions;

/// Variables with a key that may write all buckets.
const KEY: (&str, &str) = ("TERRACE_ACCESS_KEY", "TERRACE_SECRET_KEY");

/// Serve the objects of a store by S3.
#[derive(Debug, clap::Parser)]
#[command(name = "terrace-serve", version)]
pub struct Arguments {
    /// The store: a directory, the image of a drive, or a block device
    pub store: PathBuf,
    /// The plain drive of the store's journal and logs, or of offloaded tables, if it is no longer
    /// where it was when the store was made
    #[arg(long, value_name = "DRIVE")]
    pub second: Option<PathBuf>,
    /// Listen on this address; one that is not of the loopback needs keys
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9000")]
    pub listen: SocketAddr,
    /// Take access keys and their rights from this file. Without it, a key in the variables
    /// TERRACE_ACCESS_KEY and TERRACE_SECRET_KEY may write all buckets
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,
    /// Serve TLS with this certificate, and its chain, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_certificate: Option<PathBuf>,
    /// The key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub tls_key: Option<PathBuf>,
    /// Keep bodies up to this size as entries of the store, larger ones as files, at most 1 MiB
    #[arg(long, value_name = "SIZE", default_value = "64KiB", value_parser = entry_max)]
    pub entry_max: ByteCount,
    /// Forget unfinished uploads after this number of days
    #[arg(long, value_name = "DAYS", default_value_t = 7.0, value_parser = days)]
    pub upload_days: f64,
    /// Forget objects whose files are not there, and serve the others: for a checkpoint or a backup
    /// of a served store, which has no files of bodies
    #[arg(long)]
    pub forget_missing: bool,
    /// Most open connections; each may take 1.5 MiB of memory
    #[arg(long, value_name = "NUMBER", default_value_t = 512, value_parser = connections)]
    pub connections: u32,
    /// Most threads that wait for the store
    #[arg(long, value_name = "NUMBER", default_value_t = 32, value_parser = threads)]
    pub threads: u16,
    /// End a connection that is idle, or whose client takes no bytes, after this time
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = seconds())]
    pub idle: u64,
    /// Refuse a body of which less than 512 KiB come in this time
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = seconds())]
    pub piece_time: u64,
    /// At the end, wait this long for requests in flight
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = seconds())]
    pub end_time: u64,
    /// Answer requests below /-/ to clients of other machines, too
    #[arg(long)]
    pub admin_open: bool,
    /// Take the name before this domain for the bucket: `bucket.example.org` for `example.org`. May
    /// be given again
    #[arg(long, value_name = "NAME", value_parser = domain)]
    pub domain: Vec<String>,
    /// Log events of this kind and above: error, warn, info, debug, trace
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log: tracing::Level,
}

fn entry_max(text: &str) -> Result<ByteCount, String> {
    let size: ByteCount = text.parse().map_err(|error| format!("{error}"))?;
    let most = ByteCount::mib(1);
    if size <= most { Ok(size) } else { Err(format!("expected at most {most}, found {size}")) }
}

fn domain(text: &str) -> Result<String, String> {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|one| one.is_ascii_alphanumeric() || one == b'-')
    };
    match text.split('.').all(is_part) {
        true => Ok(text.to_owned()),
        false => Err("expected a name as in a URL, without a port, such as s3.example.org".into()),
    }
}

fn days(text: &str) -> Result<f64, String> {
    let days: f64 = text.parse().map_err(|_| "expected a number of days".to_owned())?;
    let fits = (0.0..=36_500.0).contains(&days);
    if fits { Ok(days) } else { Err("expected 0 to 36500 days".into()) }
}

fn connections(text: &str) -> Result<u32, String> {
    within(text, 1, 65_536)
}

fn threads(text: &str) -> Result<u16, String> {
    within(text, 1, 512)
}

fn within<T: std::str::FromStr + PartialOrd + std::fmt::Display>(
    text: &str,
    least: T,
    most: T,
) -> Result<T, String> {
    match text.parse() {
        Ok(number) if least <= number && number <= most => Ok(number),
        _ => Err(format!("expected {least} to {most}")),
    }
}

fn seconds() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(1..=86_400)
}

impl Arguments {
    /// The options of the server.
    pub fn options(&self) -> Result<ServerOptions, KeysError> {
        let tls = self.tls_certificate.clone().zip(self.tls_key.clone());
        Ok(ServerOptions {
            listen: self.listen,
            keys: Arc::new(self.keys()?),
            tls,
            entry_max: self.entry_max.0,
            upload_age_max: Duration::from_secs_f64(self.upload_days * 86_400.0),
            forget_missing: self.forget_missing,
            connections_max: self.connections as usize,
            bodies_max: usize::from(self.threads) / 2,
            idle_max: Duration::from_secs(self.idle),
            piece_time_max: Duration::from_secs(self.piece_time),
            end_max: Duration::from_secs(self.end_time),
            admin_open: self.admin_open,
            domains: self.domain.clone(),
            title: self.title(),
        })
    }

    /// The name of the store's file.
    fn title(&self) -> String {
        let name = self.store.file_name().unwrap_or(self.store.as_os_str());
        name.to_string_lossy().into_owned()
    }

    fn keys(&self) -> Result<Keys, KeysError> {
        if let Some(path) = &self.keys {
            return Keys::read(path);
        }
        // A value that is no text is a key that no client has.
        let value = |name| env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        Keys::of_variables(KEY, (value(KEY.0), value(KEY.1)))
    }

    /// Whether clients of other machines are served without TLS.
    #[must_use]
    pub fn is_in_the_clear(&self) -> bool {
        let is_loopback = |ip: IpAddr| ip.to_canonical().is_loopback();
        self.tls_certificate.is_none() && !is_loopback(self.listen.ip())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn a_domain_is_a_name_alone() {
        for (given, is_one) in [
            ("localhost", true),
            ("s3.Example-1.org", true),
            ("", false),
            ("localhost:9000", false),
            (".example.org", false),
            ("a/b", false),
        ] {
            let given = ["terrace-serve", "store", "--domain", given];
            assert_eq!(Arguments::try_parse_from(given).is_ok(), is_one, "{given:?}");
        }
    }

    #[test]
    fn each_time_has_the_unit_of_its_option() {
        let given = "terrace-serve store --upload-days 1.5 --idle 2 --piece-time 3 --end-time 4";
        let options = Arguments::parse_from(given.split(' ')).options().expect("options");
        assert_eq!(options.upload_age_max, Duration::from_secs(36 * 3600));
        let times = [options.idle_max, options.piece_time_max, options.end_max];
        assert_eq!(times.map(|time| time.as_secs()), [2, 3, 4]);
    }
}
