//! The listener: HTTP/1.1 with a deadline for heads, bounds on connections and on how long each
//! lives, and an end in good order.

use std::{
    convert::Infallible, future::pending, net::SocketAddr, pin::pin, sync::Arc, time::Duration,
};

use axum::{Router, body::Body};
use http::Request;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::{JoinError, JoinSet},
    time::timeout,
};
use tower::ServiceExt;

use crate::peers::Peer;

/// The bounds of what peers can do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Connections at one moment; one more waits until another ends.
    connections_max: usize,
    /// How long a head may take, and a connection rest.
    head_wait: Duration,
    /// How long a connection lives. No answer is long, so this is what ends one whose peer takes
    /// no bytes.
    age_max: Duration,
    /// How long a request may go on beyond that: longer than any is waited for.
    last_wait: Duration,
    /// How long requests may go on when the service ends.
    stop_grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 1_024,
            head_wait: Duration::from_secs(30),
            age_max: Duration::from_secs(600),
            last_wait: Duration::from_secs(60),
            stop_grace: Duration::from_secs(10),
        }
    }
}

/// Bytes of a head.
const HEAD_BYTES_MAX: usize = 32 * 1_024;
/// The pause after a connection could not be taken, as when there are no descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop`, then lets what runs come to its end within its grace.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    stop: impl Future<Output = ()>,
) {
    let (closing, is_closing) = watch::channel(false);
    let places = Arc::new(Semaphore::new(limits.connections_max));
    let mut connections = JoinSet::new();
    let mut stop = pin!(stop);
    loop {
        let accepted = async {
            // The semaphore is never closed, so an error cannot come.
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        tokio::select! {
            () = &mut stop => break,
            Some(ended) = connections.join_next() => note(ended),
            (place, accepted) = accepted => match accepted {
                Ok((stream, peer)) => {
                    let speaking = speak(stream, peer, router.clone(), limits, is_closing.clone());
                    connections.spawn(async move {
                        speaking.await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    // It ends by its time, which is the pause.
                    let _ = timeout(ACCEPT_PAUSE, pending::<()>()).await;
                }
            }
        }
    }
    drop(listener);
    closing.send_replace(true);
    let ended = async {
        while let Some(ended) = connections.join_next().await {
            note(ended);
        }
    };
    if timeout(limits.stop_grace, ended).await.is_err() {
        tracing::warn!("some requests did not end in time");
    }
}

async fn speak(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    limits: Limits,
    mut is_closing: watch::Receiver<bool>,
) {
    // Answers are small; a system that cannot is slower and not wrong.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(peer.ip()));
        let router = router.clone();
        async move { Ok::<_, Infallible>(answered(router.oneshot(request).await)) }
    });
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head_wait)
            .max_buf_size(HEAD_BYTES_MAX)
            .serve_connection(TokioIo::new(stream), service)
    );
    tokio::select! {
        // An error is a peer that left or broke the protocol; there is nobody to tell.
        _ = connection.as_mut() => return,
        // An error means that the listener is gone, which is a close as well.
        _ = is_closing.wait_for(|closing| *closing) => {}
        // It ends by its time, which is the connection's age.
        _ = timeout(limits.age_max, pending::<()>()) => {}
    }
    connection.as_mut().graceful_shutdown();
    // As above; one that is cut has nobody to tell either.
    let _ = timeout(limits.last_wait, connection).await;
}

/// A panic ends its connection alone.
fn note(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a connection ended in a panic");
    }
}

fn answered<T>(answer: Result<T, Infallible>) -> T {
    match answer {
        Ok(answer) => answer,
    }
}

#[cfg(test)]
#[path = "listener_tests.rs"]
mod tests;
