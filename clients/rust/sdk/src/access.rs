//! A connection to a server.

use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore, version::TLS13};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use tower::service_fn;

use crate::server::{CONNECTION_WINDOW, STREAM_WINDOW};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// Says how a server is reached, and who calls.
pub(crate) struct Access {
    /// "host:port" or "unix:/path".
    pub target: String,
    /// The path of the authorities of the server's certificate, as PEM; "system" for those that the system trusts; empty for a
    /// server in the clear. TLS 1.3 is the least.
    pub ca: String,
    /// Says who calls; empty for nobody. It is not sent in the clear to another machine: an error.
    pub token: String,
}

impl Access {
    /// Makes a connection; nothing is dialled yet. It belongs to a runtime.
    pub(crate) fn connect(&self) -> Result<InterceptedService<Channel, Token>, String> {
        if !self.token.is_empty() && self.ca.is_empty() && !is_local(&self.target) {
            return Err("a token is not sent in the clear to another machine: use TLS".into());
        }
        Ok(InterceptedService::new(self.channel()?, Token::new(&self.token)?))
    }

    fn channel(&self) -> Result<Channel, String> {
        if let Some(path) = self.target.strip_prefix("unix:").map(PathBuf::from) {
            let dial = move |_| {
                let path = path.clone();
                async move { UnixStream::connect(path).await.map(TokioIo::new) }
            };
            return Ok(endpoint("localhost")?.connect_with_connector_lazy(service_fn(dial)));
        }
        let to = endpoint(&self.target)?;
        if self.ca.is_empty() {
            return Ok(to.connect_lazy());
        }
        let connector = TlsConnector::from(Arc::new(trusting(&self.ca)?));
        let host = host(&self.target).to_owned();
        let name = ServerName::try_from(host).map_err(|e| format!("{}: {e}", self.target))?;
        let origin = format!("https://{}", self.target).parse().map_err(|e| format!("{}: {e}", self.target))?;
        let target = self.target.clone();
        let dial = move |_| {
            let (connector, name, target) = (connector.clone(), name.clone(), target.clone());
            async move {
                let tcp = TcpStream::connect(target).await?;
                tcp.set_nodelay(true)?;
                connector.connect(name, tcp).await.map(TokioIo::new)
            }
        };
        Ok(to.origin(origin).connect_with_connector_lazy(service_fn(dial)))
    }
}

fn endpoint(target: &str) -> Result<Endpoint, String> {
    let to =
        Endpoint::from_shared(format!("http://{target}")).map_err(|e| format!("{target}: {e}: expected host:port"))?;
    Ok(to
        .connect_timeout(CONNECT_TIMEOUT)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW))
}

/// Gives the host of "host:port" or "[host]:port".
fn host(target: &str) -> &str {
    let host = target.rsplit_once(':').map_or(target, |(host, _)| host);
    host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host)
}

/// Says whether only this machine reaches an address.
fn is_local(target: &str) -> bool {
    target.starts_with("unix:")
        || host(target) == "localhost"
        || host(target).parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

/// tonic's own configuration of TLS has no least version.
fn trusting(ca: &str) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    if ca == "system" {
        for cert in rustls_native_certs::load_native_certs().certs {
            let _ = roots.add(cert); // one that cannot be read vouches for nobody
        }
    } else {
        let pem = fs::read(ca).map_err(|e| format!("{ca}: {e}"))?;
        for cert in CertificateDer::pem_slice_iter(&pem) {
            let cert = cert.map_err(|e| format!("{ca}: {e}"))?;
            roots.add(cert).map_err(|e| format!("{ca}: {e}"))?;
        }
    }
    if roots.is_empty() {
        return Err(format!("{ca}: there is no certificate in it"));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13]);
    let mut config = config.map_err(|e| e.to_string())?.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(config)
}

/// Adds to a call who makes it.
#[derive(Clone)]
pub(crate) struct Token(Option<MetadataValue<Ascii>>);

impl Token {
    fn new(token: &str) -> Result<Self, String> {
        if token.is_empty() {
            return Ok(Self(None));
        }
        let value: Result<MetadataValue<Ascii>, _> = format!("Bearer {token}").parse();
        let mut value = value.map_err(|_| "the token has characters that no header takes")?;
        value.set_sensitive(true);
        Ok(Self(Some(value)))
    }
}

impl Interceptor for Token {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(value) = &self.0 {
            request.metadata_mut().insert("authorization", value.clone());
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(target: &str, ca: &str, token: &str) -> String {
        let access = Access { target: target.into(), ca: ca.into(), token: token.into() };
        access.connect().err().unwrap_or_else(|| panic!("{target} is admitted"))
    }

    #[tokio::test]
    async fn a_token_is_sent_in_the_clear_to_this_machine_only() {
        for local in ["unix:/s", "localhost:1", "127.1.2.3:1", "[::1]:1"] {
            let access = Access { target: local.into(), ca: String::new(), token: "token".into() };
            assert!(access.connect().is_ok(), "{local}");
        }
        for other in ["10.0.0.7:1", "localhost.example:1", "127.0.0.1.example:1", "[::2]:1", "dns:///localhost:1"] {
            assert!(refused(other, "", "token").contains("in the clear"), "{other}");
        }
        assert!(refused("localhost:1", "", "to\nken").contains("no header takes"));
    }

    #[tokio::test]
    async fn a_file_without_a_certificate_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("ca.pem");
        assert!(refused("10.0.0.7:1", file.to_str().unwrap(), "").contains("ca.pem"));
        fs::write(&file, "none").unwrap();
        assert!(refused("10.0.0.7:1", file.to_str().unwrap(), "").contains("there is no certificate in it"));
        fs::write(&file, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
        assert!(refused("10.0.0.7:1", file.to_str().unwrap(), "").contains("ca.pem"));
    }
}
