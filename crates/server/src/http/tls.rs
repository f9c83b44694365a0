//! TLS: reads a certificate and its key from PEM files. TLS 1.2 and 1.3, by rustls.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Reason why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file is not PEM.
    #[error("{0}: {1}")]
    Pem(String, pem::Error),
    /// Certificate and key do not fit.
    #[error("certificate and key: {0}")]
    Unfit(#[from] tokio_rustls::rustls::Error),
}

/// An acceptor with this certificate, with its chain, and this key.
pub(crate) fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor, TlsError> {
    let of = |path: &Path, error| TlsError::Pem(path.display().to_string(), error);
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| of(certificate, error))?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|error| of(key, error))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
