//! The listener: HTTP/1.1 with a deadline for heads and a bound on connections, and an end in
//! good order.

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
    task::JoinSet,
    time::timeout,
};
use tower::ServiceExt;

use crate::peers::Peer;

/// Connections at one moment; one more waits until another ends.
const CONNECTIONS_MAX: usize = 1_024;
/// How long a head may take, and a connection rest.
const HEAD_WAIT: Duration = Duration::from_secs(30);
/// Bytes of a head.
const HEAD_BYTES_MAX: usize = 32 * 1_024;
/// How long requests may go on when the service ends.
const STOP_GRACE: Duration = Duration::from_secs(10);
/// The pause after a connection could not be taken, as when there are no descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop`, then lets what runs come to its end, ten seconds at most.
pub(crate) async fn serve(listener: TcpListener, router: Router, stop: impl Future<Output = ()>) {
    let (closing, is_closing) = watch::channel(false);
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
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
            // An end that is taken note of here is only one connection less.
            Some(_) = connections.join_next() => {}
            (place, accepted) = accepted => match accepted {
                Ok((stream, peer)) => {
                    let speaking = speak(stream, peer, router.clone(), is_closing.clone());
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
    let ended = async { while connections.join_next().await.is_some() {} };
    if timeout(STOP_GRACE, ended).await.is_err() {
        tracing::warn!("some requests did not end in time");
    }
}

async fn speak(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
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
            .header_read_timeout(HEAD_WAIT)
            .max_buf_size(HEAD_BYTES_MAX)
            .serve_connection(TokioIo::new(stream), service)
    );
    tokio::select! {
        // An error is a peer that left or broke the protocol; there is nobody to tell.
        _ = connection.as_mut() => return,
        // An error means that the listener is gone, which is a close as well.
        _ = is_closing.wait_for(|closing| *closing) => {}
    }
    connection.as_mut().graceful_shutdown();
    // As above.
    let _ = connection.await;
}

fn answered<T>(answer: Result<T, Infallible>) -> T {
    match answer {
        Ok(answer) => answer,
    }
}
