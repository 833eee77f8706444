//! A service that notes what it is asked, behind a way that breaks where it is told to: before
//! anything of a request is read, in the middle of it, or after it is answered.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::received_request::ReceivedRequest;

/// Where the way of one request breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionCut {
    /// Nowhere; the service answers with this status and these headers, each with its line's end.
    None(u16, &'static str),
    /// Before anything of it is read.
    Before,
    /// In the middle of it: the service never sees it whole.
    Within,
    /// When the service has it, before its answer.
    After,
}

/// A service behind such a way. It ends when it is dropped.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    /// What becomes of the next connections; those behind them are answered 200.
    cuts: Arc<Mutex<VecDeque<ConnectionCut>>>,
    /// The requests that the service had whole, each with its head.
    seen: Arc<Mutex<Vec<String>>>,
    serving: JoinHandle<()>,
}

impl FaultProxy {
    /// Opens a service on a port of its own.
    ///
    /// # Panics
    /// When no port is free.
    #[expect(
        clippy::disallowed_methods,
        reason = "a counterpart of the server stands outside its tasks"
    )]
    pub async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let cuts: Arc<Mutex<VecDeque<ConnectionCut>>> = Arc::default();
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let (next, noted) = (Arc::clone(&cuts), Arc::clone(&seen));
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let cut = next
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .pop_front();
                serve(stream, cut.unwrap_or(ConnectionCut::None(200, "")), &noted).await;
            }
        });
        Self {
            address,
            cuts,
            seen,
            serving,
        }
    }

    /// Where it answers.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What becomes of the next requests, in this order.
    pub fn push_cut(&self, cuts: &[ConnectionCut]) {
        let mut next = self.cuts.lock().unwrap_or_else(PoisonError::into_inner);
        next.extend(cuts);
    }

    /// The heads of the requests that the service had since it was asked last.
    pub fn seen(&self) -> Vec<String> {
        std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Serves one request; every connection has one.
async fn serve(mut stream: TcpStream, cut: ConnectionCut, seen: &Mutex<Vec<String>>) {
    match cut {
        ConnectionCut::Before => {}
        ConnectionCut::Within => {
            let mut some = [0; 10];
            // That is enough to know that something was sent.
            let _ = stream.read_exact(&mut some).await;
        }
        ConnectionCut::After | ConnectionCut::None(..) => {
            let Some(ReceivedRequest { head, .. }) = ReceivedRequest::read(&mut stream).await
            else {
                return;
            };
            seen.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(head.to_lowercase());
            if let ConnectionCut::None(status, headers) = cut {
                let body = r#"{"ok":true}"#;
                let answer = format!(
                    "HTTP/1.1 {status} Said\r\nContent-Type: application/json\r\n\
                     Content-Length: {}\r\n{headers}Connection: close\r\n\r\n{body}",
                    body.len()
                );
                // A client that is gone reads nothing.
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
            }
        }
    }
}
