//! `objects-peer DIRECTORY`: a server of S3 that keeps objects as plain files of the host: the
//! crate `s3s-fs`, over the crates for HTTP, signatures and XML that `terrace-serve` uses.
//!
//! `s3s-fs` syncs nothing: a power cut may take objects that it has acknowledged. With `--sync`, a
//! put is answered after the object's three files and their directories are synced ([`Synced`]),
//! as a put of `terrace-serve` is.
//!
//! The key is that of `client.py`. The address goes to standard error, as `address=`.

mod synced;

use std::path::PathBuf;

use anyhow::Context;
use clap::Parser;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tokio::net::TcpListener;

use crate::synced::Synced;

/// The key of the client.
const KEY: (&str, &str) = ("bench", "benchbenchbenchbench");

/// Serve a directory by S3.
#[derive(Parser)]
struct Arguments {
    /// The directory
    directory: PathBuf,
    /// Answer a put when its files are synced
    #[arg(long)]
    sync: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let Arguments { directory, sync } = Arguments::parse();
    let files = FileSystem::new(&directory).map_err(|error| anyhow::anyhow!("{error:?}"))?;
    let mut builder = if sync {
        S3ServiceBuilder::new(Synced::new(files, directory))
    } else {
        S3ServiceBuilder::new(files)
    };
    builder.set_auth(SimpleAuth::from_single(KEY.0, KEY.1));
    let service = builder.build();
    let socket = TcpListener::bind("127.0.0.1:0").await.context("a port of the loopback")?;
    eprintln!("serving address={}", socket.local_addr()?);
    loop {
        let (stream, _) = socket.accept().await?;
        // Without it, each answer would wait for an acknowledgement of its head.
        stream.set_nodelay(true)?;
        let service = service.clone();
        tokio::spawn(async move {
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
