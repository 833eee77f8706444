//! Workers of pages run although every target waits for its guard. Source: contract 7.12 (14).

use super::{
    StartedChromium,
    loopback_site::{LoopbackSite, answer, html},
};

#[tokio::test]
async fn workers_work_those_of_frames_and_of_workers_too() {
    let Some(mut browser) = StartedChromium::open().await else {
        return;
    };
    let script = |body| answer("200 OK", "Content-Type: text/javascript\r\n", body);
    let site = LoopbackSite::new()
        .page("/inner.js", script("postMessage('inner')"))
        .page(
            "/outer.js",
            script("new Worker('/inner.js').onmessage = () => postMessage('outer')"),
        )
        .page(
            "/frame",
            html(
                "<script>onmessage = () => new Worker('/outer.js').onmessage = () => \
                 parent.postMessage('frame')</script>",
            ),
        )
        .page(
            "/shared.js",
            script("onconnect = ({ports}) => ports[0].postMessage('shared')"),
        )
        .page("/service.js", script("onactivate = () => 0"))
        .page(
            "/",
            html(
                "<iframe src=/frame></iframe><script>const done = [];\
                 const add = what => { done.push(what); document.title = done.sort().join(' ') };\
                 onload = () => document.title = 'loaded';\
                 onmessage = ({data}) => add(data);\
                 onhashchange = () => { frames[0].postMessage('begin');\
                 new Worker('/outer.js').onmessage = ({data}) => add(data);\
                 new SharedWorker('/shared.js').port.onmessage = ({data}) => add(data);\
                 navigator.serviceWorker.register('/service.js').then(() => \
                 navigator.serviceWorker.ready).then(() => add('service')) }</script>",
            ),
        );
    let tab = browser.tab();
    browser.visit(tab, &site.url("/"), "loaded").await;
    // Not earlier: Chromium 156 itself, also where nobody drives it, now and then gives up the
    // script of a worker that a frame asks for as it takes its document over.
    browser
        .visit(tab, &site.url("/#begin"), "frame outer service shared")
        .await;
    browser.close().await;
}
