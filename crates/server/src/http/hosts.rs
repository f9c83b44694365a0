//! [`Hosts`]: buckets in the name of the host, as in `http://bucket.example.org/key`. A server has
//! them only below the domains that it is told; anywhere else the bucket is in the path.

use hyper::HeaderMap;
use hyper::header::HOST;
use s3s::S3Result;
use s3s::host::{S3Host, VirtualHost};

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub(crate) struct Hosts(Vec<String>);

impl Hosts {
    /// Buckets below these domains.
    pub(crate) fn below(domains: &[String]) -> Self {
        let plain = |domain: &String| domain.trim_matches('.').to_ascii_lowercase();
        Self(domains.iter().map(plain).collect())
    }

    /// The bucket in the name of a host.
    pub(crate) fn bucket_in(&self, host: &str) -> Option<String> {
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name).to_ascii_lowercase();
        let below = |domain: &String| {
            let bucket = name.strip_suffix(domain.as_str())?.strip_suffix('.')?;
            (!bucket.is_empty()).then(|| bucket.to_owned())
        };
        // Of two domains that fit, the longer one counts.
        self.0.iter().filter_map(below).min_by_key(String::len)
    }

    /// Whether a request has its bucket in the name of the host.
    pub(super) fn is_of_bucket(&self, headers: &HeaderMap) -> bool {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        host.is_some_and(|host| self.bucket_in(host).is_some())
    }
}

impl S3Host for Hosts {
    fn parse_host_header<'a>(&'a self, host: &'a str) -> S3Result<VirtualHost<'a>> {
        Ok(match self.bucket_in(host) {
            Some(bucket) => VirtualHost::new(host).with_bucket(bucket),
            None => VirtualHost::new(host),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_before_one_of_the_domains() {
        let hosts = Hosts::below(&["Example.org".into(), ".s3.example.org".into()]);
        for (host, bucket) in [
            ("photos.example.org", Some("photos")),
            ("Photos.Example.ORG:9000", Some("photos")),
            ("a.b.example.org", Some("a.b")),
            ("a.s3.example.org", Some("a")),
            ("example.org", None),
            (".example.org", None),
            ("notexample.org", None),
            ("127.0.0.1:9000", None),
            ("[::1]:9000", None),
        ] {
            assert_eq!(hosts.bucket_in(host).as_deref(), bucket, "{host}");
        }
        assert_eq!(Hosts::default().bucket_in("a.localhost"), None);
    }
}
