//! WebSockets through a preview: everything is checked before the dev server hears of it, and
//! bytes pass only once it agreed. Source: contract 6.9, "Upgrade"; RFC 6455.

use std::{pin::pin, sync::Arc};

use axum::{
    body::Body,
    extract::Request,
    http::{
        HeaderMap, HeaderValue, Response, StatusCode,
        header::{CONNECTION, CONTENT_LENGTH, ORIGIN, TRANSFER_ENCODING, UPGRADE},
    },
};
use futures_util::future::select;
use guildhall_domain::workbench::AddressClaims;
use guildhall_hall::workbench::previews::UpgradeSlot;
use hyper::upgrade::{OnUpgrade, on};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, copy_buf, split},
    time::timeout,
};

use super::{error_pages::ProxyError, proxy::PreviewProxy};
use crate::listener::{PipelinedBytes, RequestHead};

/// The one protocol a connection may be upgraded to.
const WEBSOCKET: HeaderValue = HeaderValue::from_static("websocket");
/// Bytes read at once in either direction.
const BUFFER_BYTES: usize = 16 * 1_024;

/// Whether a WebSocket is asked for. Other protocols are not passed on, as if nobody had asked.
pub(super) fn is_wanted(headers: &HeaderMap) -> bool {
    let names_upgrade = headers
        .get_all(CONNECTION)
        .iter()
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b','))
        .any(|name| name.trim_ascii().eq_ignore_ascii_case(b"upgrade"));
    names_upgrade && is_websocket(headers)
}

fn is_websocket(headers: &HeaderMap) -> bool {
    let mut wanted = headers.get_all(UPGRADE).iter();
    let is_it = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"websocket");
    wanted.next().is_some_and(is_it) && wanted.next().is_none()
}

/// Opens a WebSocket to the dev server for whoever may, or says why not.
pub(super) async fn answer(
    proxy: &Arc<PreviewProxy>,
    mut request: Request,
    head: RequestHead,
    origin: &str,
    grant: AddressClaims,
) -> Result<Response<Body>, ProxyError> {
    let behind = request.extensions_mut().remove::<PipelinedBytes>();
    let is_early = || head.is_followed || behind.as_ref().is_some_and(PipelinedBytes::have_arrived);
    let has_body = request.headers().contains_key(TRANSFER_ENCODING)
        || request
            .headers()
            .get(CONTENT_LENGTH)
            .is_some_and(|length| length != "0");
    if !request.method().is_safe() || has_body {
        return Err(ProxyError::Unclear("This is no WebSocket handshake."));
    }
    if is_early() {
        return Err(ProxyError::Unclear(TOO_EARLY));
    }
    if !comes_from(request.headers(), origin) {
        return Err(ProxyError::ForeignSocket);
    }
    let place = proxy.preview.upgrade().ok_or(ProxyError::TooManySockets)?;
    let browser = on(&mut request);
    proxy.to_dev_server(&mut request, origin);
    let headers = request.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, WEBSOCKET);
    let mut answer = proxy.send_upstream(request).await?;
    if answer.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(proxy.to_browser(answer));
    }
    if !is_websocket(answer.headers()) {
        return Err(ProxyError::Broken(proxy.preview.port()));
    }
    if is_early() {
        return Err(ProxyError::Unclear(TOO_EARLY));
    }
    let dev_server = on(&mut answer);
    let mut answer = proxy.to_browser(answer);
    *answer.body_mut() = Body::empty();
    let headers = answer.headers_mut();
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, WEBSOCKET);
    let tunnel = relay(Arc::clone(proxy), browser, dev_server, grant, place);
    proxy.hall.run_preview_socket(tunnel);
    Ok(answer)
}

const TOO_EARLY: &str = "Something was sent before the WebSocket was open.";

/// Whether the handshake is of a page of this preview, or of a program that names none.
fn comes_from(headers: &HeaderMap, origin: &str) -> bool {
    let mut origins = headers.get_all(ORIGIN).iter();
    match (origins.next(), origins.next()) {
        (None, _) => true,
        (Some(from), None) => from.as_bytes().eq_ignore_ascii_case(origin.as_bytes()),
        (Some(_), Some(_)) => false,
    }
}

/// Passes bytes both ways until either side ends, the preview does, or the grant behind it.
async fn relay(
    proxy: Arc<PreviewProxy>,
    browser: OnUpgrade,
    dev_server: OnUpgrade,
    grant: AddressClaims,
    _place: UpgradeSlot,
) {
    let bytes = async {
        // A side that left before it came about has nothing to say.
        let (Ok(browser), Ok(dev_server)) = tokio::join!(browser, dev_server) else {
            return;
        };
        let (from_browser, to_browser) = split(TokioIo::new(browser));
        let (from_dev_server, to_dev_server) = split(TokioIo::new(dev_server));
        let up = pin!(relay_one_way(from_browser, to_dev_server));
        let down = pin!(relay_one_way(from_dev_server, to_browser));
        let ((), other) = select(up, down).await.factor_first();
        // What is still said is heard out, but not for ever: a side may be gone without a word.
        let _ = timeout(proxy.preview.half_wait(), other).await;
    };
    // All of them only wait, and nothing is done with the bytes afterwards.
    tokio::select! {
        () = bytes => {}
        () = proxy.hall.preview_is_closing(&proxy.preview) => {}
        () = proxy.hall.address_ended(&grant) => {}
    }
}

/// Passes bytes to their end, and the end as well.
async fn relay_one_way(from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
    let mut from = BufReader::with_capacity(BUFFER_BYTES, from);
    // An error is one side's end, of which the other one hears.
    let _ = copy_buf(&mut from, &mut to).await;
    let _ = to.shutdown().await;
}
