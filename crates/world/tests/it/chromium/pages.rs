//! What a person does with pages, and what pages may not do. Source: contract 7.6, 7.7, 7.9,
//! 7.12 (14).

use guildhall_domain::{
    browser::{
        BrowserAddress, DialogKind, InputStep, InputSteps, KeyModifiers, MouseButton, Viewport,
    },
    ids::TabId,
    limits::BROWSER_TABS_MAX,
};
use guildhall_world::chromium::{
    BrowserError, HistoryNavigation, ScreenshotOptions, TextCondition,
};

use super::{
    A_WHILE, StartedChromium, kill,
    loopback_site::{LoopbackSite, answer, html},
    processes_of,
};
use crate::fake_agents::soon;

fn click(x: f64, y: f64) -> InputSteps {
    steps(vec![InputStep::Click {
        x,
        y,
        button: MouseButton::Left,
        count: 1,
    }])
}

fn steps(steps: Vec<InputStep>) -> InputSteps {
    InputSteps::checked(steps, Viewport::default()).unwrap()
}

/// A page that is one button from corner to corner, which does this.
fn button(does: &str) -> String {
    format!(
        "<title>button</title><button style='position:fixed;inset:0;width:100%' \
         onclick=\"{does}\">Go</button>"
    )
}

/// What a reader of the page would see.
async fn seen(browser: &StartedChromium, tab: TabId) -> String {
    browser.chromium.snapshot(tab).await.unwrap().text
}

#[tokio::test]
async fn a_tab_tells_where_it_is_and_goes_back_and_forth() {
    let Some(mut browser) = StartedChromium::open().await else {
        return;
    };
    let site = LoopbackSite::new()
        .page("/a", html("<title>a\u{202e}</title>"))
        .page("/b", html("<title>b</title>"));
    let tab = browser.tab();
    browser.visit(tab, &site.url("/a"), "a").await;
    assert_eq!(browser.page(tab).url, site.url("/a"));
    browser.visit(tab, &site.url("/b"), "b").await;
    let page = browser.until_page(tab, |page| page.can_go_back).await;
    assert!(!page.can_go_forward);
    browser
        .chromium
        .go(tab, HistoryNavigation::Back)
        .await
        .unwrap();
    browser.until_title(tab, "a").await;
    browser.until_page(tab, |page| page.can_go_forward).await;
    browser
        .chromium
        .go(tab, HistoryNavigation::Forward)
        .await
        .unwrap();
    browser.until_title(tab, "b").await;
    site.paths();
    browser
        .chromium
        .go(tab, HistoryNavigation::Reload)
        .await
        .unwrap();
    browser
        .chromium
        .go(tab, HistoryNavigation::Forward)
        .await
        .unwrap();
    browser.chromium.wait_for_load(tab).await.unwrap();
    assert_eq!(site.asked.recv().unwrap().path, "/b");
    browser.close().await;
}

#[tokio::test]
async fn a_slow_page_is_answered_when_its_load_begins_and_can_be_stopped() {
    let Some(mut browser) = StartedChromium::open().await else {
        return;
    };
    let site = LoopbackSite::new();
    let tab = browser.tab();
    let held = BrowserAddress::typed(&site.url("/held")).unwrap();
    browser.chromium.navigate(tab, &held).await.unwrap();
    browser.until_page(tab, |page| page.loading).await;
    browser
        .chromium
        .go(tab, HistoryNavigation::Stop)
        .await
        .unwrap();
    browser.until_page(tab, |page| !page.loading).await;
    browser.close().await;
}

#[tokio::test]
async fn nothing_but_the_web_is_shown() {
    let Some(mut browser) = StartedChromium::open().await else {
        return;
    };
    let secret = browser.home.path().join("secret.html");
    std::fs::write(&secret, "<title>secret</title>the treasure").unwrap();
    let file = format!("file://{}", secret.display());
    let to = |place: &str| answer("302 Found", &format!("Location: {place}\r\n"), "");
    let frames = format!(
        "<title>frames</title><iframe src='{file}'></iframe><iframe src='chrome://version'>\
         </iframe><iframe src='/redirect'></iframe><object data='{file}'></object>\
         <embed src='{file}'><iframe src='data:text/html,<p>homemade</p>'></iframe>"
    );
    let pop_up = format!(
        "window.open('{file}'); window.open('chrome://version'); \
         window.open('view-source:'+location); \
         location.href='{file}'; document.title='tried'"
    );
    let site = LoopbackSite::new()
        .page("/redirect", to(&file))
        .page("/frames", html(&frames))
        .page("/pop-up", html(&button(&pop_up)))
        .page("/script", html("<title>script</title><p>fine"));
    let tab = browser.tab();

    let redirect = BrowserAddress::typed(&site.url("/redirect")).unwrap();
    browser.chromium.navigate(tab, &redirect).await.unwrap();
    let page = browser.until_page(tab, |page| page.error.is_some()).await;
    assert!(page.error.unwrap().starts_with("net::ERR_"));
    assert!(!seen(&browser, tab).await.contains("treasure"));

    browser.visit(tab, &site.url("/frames"), "frames").await;
    let text = seen(&browser, tab).await;
    assert!(text.contains("homemade"), "{text}");
    assert!(
        !text.contains("treasure") && !text.contains("Revision"),
        "{text}"
    );

    browser.visit(tab, &site.url("/pop-up"), "button").await;
    browser
        .chromium
        .input(tab, &click(50.0, 50.0))
        .await
        .unwrap();
    browser.until_title(tab, "tried").await;
    for tab in browser.tabs.keys() {
        let page = browser.page(*tab);
        assert!(
            page.url.starts_with("http:") || page.url.len() < 12,
            "{page:?}"
        );
        assert!(!page.title.contains("secret"));
    }
    browser.close().await;
}

#[tokio::test]
async fn dialogs_wait_for_their_answer() {
    let Some(mut browser) = StartedChromium::open().await else {
        return;
    };
    let asks = "document.title = String([alert('first'), confirm('sure?'), prompt('who?', 'me')])";
    let site = LoopbackSite::new().page("/", html(&button(asks)));
    let tab = browser.tab();
    browser.visit(tab, &site.url("/"), "button").await;
    let nothing = browser.chromium.answer_dialog(tab, true, None).await;
    assert_eq!(nothing, Err(BrowserError::NothingAsked));
    // It answers although the click is not over before the dialogs are.
    browser
        .chromium
        .input(tab, &click(50.0, 50.0))
        .await
        .unwrap();
    for (kind, message, accept, words) in [
        (DialogKind::Alert, "first", true, None),
        (DialogKind::Confirm, "sure?", false, None),
        (DialogKind::Prompt, "who?", true, Some("ada")),
    ] {
        let asked = |page: &guildhall_domain::browser::PageState| {
            page.dialog
                .as_ref()
                .is_some_and(|dialog| dialog.kind == kind)
        };
        let dialog = browser.until_page(tab, asked).await.dialog.unwrap();
        assert_eq!(dialog.message, message);
        assert_eq!(dialog.default_text, if words.is_some() { "me" } else { "" });
        let refused = browser.chromium.input(tab, &click(1.0, 1.0)).await;
        let open = guildhall_domain::browser::ToolDenial::DialogOpen;
        assert_eq!(refused, Err(BrowserError::Denied(open)));
        let answered = browser.chromium.answer_dialog(tab, accept, words);
        answered.await.unwrap();
    }
    browser.until_title(tab, ",false,ada").await;
    browser.close().await;
}

#[tokio::test]
async fn a_password_is_asked_for_and_not_kept() {
    let Some(mut browser) = StartedChromium::open().await else {
        return;
    };
    let site = LoopbackSite::new().page("/private", html("<title>inside</title>"));
    let tab = browser.tab();
    let address = BrowserAddress::typed(&site.url("/private")).unwrap();
    let nothing = browser.chromium.answer_auth(tab, None).await;
    assert_eq!(nothing, Err(BrowserError::NothingAsked));
    browser.chromium.navigate(tab, &address).await.unwrap();
    let asked = browser.until_page(tab, |page| page.auth.is_some()).await;
    let asked = asked.auth.unwrap();
    assert_eq!(
        (
            asked.origin.as_str(),
            asked.realm.as_str(),
            asked.scheme.as_str()
        ),
        (site.url("").as_str(), "the vault", "basic")
    );
    browser.chromium.answer_auth(tab, None).await.unwrap();
    browser.until_title(tab, "refused").await;
    assert_eq!(browser.page(tab).auth, None);
    browser.chromium.navigate(tab, &address).await.unwrap();
    browser.until_page(tab, |page| page.auth.is_some()).await;
    let shown = |site: &LoopbackSite| -> Vec<_> {
        let asked = site.asked.try_iter();
        asked
            .map(|asked| (asked.path, asked.authorization))
            .collect()
    };
    for (path, authorization) in shown(&site) {
        assert_eq!(authorization, None, "{path} before the answer");
    }
    let answered = browser.chromium.answer_auth(tab, Some(("ada", "tiger")));
    answered.await.unwrap();
    browser.until_title(tab, "inside").await;
    // Which other requests of the page carry the answer is Chromium's own affair.
    let answer = ("/private".to_owned(), Some("Basic YWRhOnRpZ2Vy".to_owned()));
    let after = shown(&site);
    assert!(after.contains(&answer), "{after:?}");
    // The tab does not know it any more, and whoever starts the browser again is asked again.
    assert_eq!(browser.page(tab).auth, None);
    let nothing = browser.chromium.answer_auth(tab, None).await;
    assert_eq!(nothing, Err(BrowserError::NothingAsked));
    browser.chromium.close().await;
    soon(browser.running).await.unwrap();
    let mut again = StartedChromium::open_in(browser.home).await.unwrap();
    let tab = again.tab();
    again.chromium.navigate(tab, &address).await.unwrap();
    again.until_page(tab, |page| page.auth.is_some()).await;
    for (path, authorization) in shown(&site) {
        assert_eq!(authorization, None, "{path} of another browser");
    }
    again.close().await;
}

#[tokio::test]
async fn downloads_files_and_permissions_are_refused() {
    let Some(mut browser) = StartedChromium::open().await else {
        return;
    };
    let permissions = "<title>?</title><script>Promise.all(['geolocation','camera',\
        'notifications','clipboard-read'].map(name => navigator.permissions.query({name})))\
        .then(all => document.title = all.map(one => one.state).join())</script>";
    let attached = "Content-Disposition: attachment; filename=prize.bin\r\n\
        Content-Type: application/octet-stream\r\n";
    let choose = "<title>choose</title><input type=file \
        style='position:fixed;inset:0;width:100%;height:100%'>";
    let site = LoopbackSite::new()
        .page("/prize", answer("200 OK", attached, "prize"))
        .page("/choose", html(choose))
        .page("/permissions", html(permissions));
    let tab = browser.tab();
    let prize = BrowserAddress::typed(&site.url("/prize")).unwrap();
    browser.chromium.navigate(tab, &prize).await.unwrap();
    let is_refused = |page: &guildhall_domain::browser::PageState, what: &str| {
        page.error.as_deref() == Some(what)
    };
    browser
        .until_page(tab, |page| is_refused(page, "download refused"))
        .await;
    browser.visit(tab, &site.url("/choose"), "choose").await;
    browser
        .chromium
        .input(tab, &click(50.0, 50.0))
        .await
        .unwrap();
    browser
        .until_page(tab, |page| is_refused(page, "file chooser refused"))
        .await;
    let denied = "denied,denied,denied,denied";
    browser.visit(tab, &site.url("/permissions"), denied).await;
    let home = browser.home.path().to_owned();
    let left = std::fs::read_dir(&home).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(!format!("{left:?}").contains("prize"), "{left:?}");
    browser.close().await;
}

#[tokio::test]
async fn a_crashed_page_leaves_the_browser_and_comes_again() {
    let Some(mut browser) = StartedChromium::open().await else {
        return;
    };
    let site = LoopbackSite::new().page("/", html("<title>here</title>"));
    let tab = browser.tab();
    browser.visit(tab, &site.url("/"), "here").await;
    for renderer in processes_of(browser.home.path(), "--type=renderer") {
        kill(renderer);
    }
    let page = browser
        .until_page(tab, |page| page.error.as_deref() == Some("crashed"))
        .await;
    assert_eq!(page.url, site.url("/"));
    browser.chromium.ping().await.unwrap();
    site.paths();
    browser
        .chromium
        .go(tab, HistoryNavigation::Reload)
        .await
        .unwrap();
    browser
        .until_page(tab, |page| page.error.is_none() && page.title == "here")
        .await;
    assert_eq!(site.paths(), ["/"]);
    browser.close().await;
}

#[tokio::test]
async fn tabs_come_and_go_and_are_never_too_many() {
    let Some(mut browser) = StartedChromium::open().await else {
        return;
    };
    let many = "for (let n = 0; n < 30; n++) open('/small', '_blank', n % 2 ? 'noopener' : '')";
    let site = LoopbackSite::new()
        .page("/small", html("<title>small</title>"))
        .page("/", html(&button(many)));
    let first = browser.tab();
    let second = browser.chromium.new_tab().await.unwrap();
    browser
        .until(|browser| browser.tabs.contains_key(&second).then_some(()))
        .await;
    browser.chromium.select(first).await.unwrap();
    browser.chromium.close_tab(second).await.unwrap();
    browser
        .until(|browser| (!browser.tabs.contains_key(&second)).then_some(()))
        .await;
    assert_eq!(
        browser.chromium.close_tab(second).await,
        Err(BrowserError::NoTab)
    );
    // Without any tab it goes on all the same.
    browser.chromium.close_tab(first).await.unwrap();
    browser
        .until(|browser| browser.tabs.is_empty().then_some(()))
        .await;
    let first = browser.chromium.new_tab().await.unwrap();
    browser
        .until(|browser| browser.tabs.contains_key(&first).then_some(()))
        .await;
    browser.visit(first, &site.url("/"), "button").await;
    browser
        .chromium
        .input(first, &click(50.0, 50.0))
        .await
        .unwrap();
    browser
        .until(|browser| {
            let mut small = browser.tabs.values();
            let count = small.by_ref().filter(|tab| tab.1.title == "small").count();
            // A click may open as many as Chromium's own rules let it.
            (count > 0 && count + 1 == browser.tabs.len()).then_some(())
        })
        .await;
    assert!(browser.tabs.len() <= BROWSER_TABS_MAX);
    for (tab, (opener, _)) in &browser.tabs {
        assert_eq!(*opener, (*tab != first).then_some(first));
    }
    browser.close().await;
}

#[tokio::test]
async fn pictures_come_as_fast_as_they_are_acknowledged() {
    let Some(mut browser) = StartedChromium::open().await else {
        return;
    };
    let moving = "<title>moving</title><p id=p>0</p><script>let n = 0; \
        (function next() { p.textContent = n++; requestAnimationFrame(next); })()</script>";
    let site = LoopbackSite::new().page("/", html(moving));
    let tab = browser.tab();
    let size = Viewport::checked(640, 480, 1.0).unwrap();
    browser.chromium.set_viewport(size).await;
    browser.visit(tab, &site.url("/"), "moving").await;
    browser
        .chromium
        .start_screencast(tab, 320, 240)
        .await
        .unwrap();
    for _ in 0..5 {
        let frame = browser.until(|browser| browser.frames.pop()).await;
        assert_eq!((frame.tab, frame.width, frame.height), (tab, 640, 480));
        assert_eq!(size_of(&frame.jpeg), (320, 240));
        browser.chromium.acknowledge_frame(&frame).await;
    }
    browser.chromium.stop_screencast(tab).await.unwrap();
    browser.close().await;
}

/// The width and height in the frame header of a JPEG (ITU-T T.81, B.2.2).
fn size_of(jpeg: &[u8]) -> (u16, u16) {
    assert_eq!(jpeg[..2], [0xff, 0xd8], "no JPEG");
    let mut at = 2;
    loop {
        let marker = jpeg[at + 1];
        let word = |at: usize| u16::from_be_bytes([jpeg[at], jpeg[at + 1]]);
        if matches!(marker, 0xc0..=0xc2) {
            return (word(at + 7), word(at + 5));
        }
        at += 2 + usize::from(word(at + 2));
    }
}

#[tokio::test]
async fn a_screenshot_is_as_large_as_asked() {
    let Some(mut browser) = StartedChromium::open().await else {
        return;
    };
    let site = LoopbackSite::new().page(
        "/",
        html("<title>tall</title><style>html{scrollbar-width:none}</style><body style='margin:0'><div style='height:3000px'>x"),
    );
    let tab = browser.tab();
    let size = Viewport::checked(1_000, 500, 1.0).unwrap();
    browser.chromium.set_viewport(size).await;
    browser.visit(tab, &site.url("/"), "tall").await;
    for (is_whole_page, side_max, expected) in [
        (false, None, (1_000, 500)),
        (false, Some(500.0), (500, 250)),
        (true, Some(1_500.0), (500, 1_500)),
    ] {
        let shot = ScreenshotOptions {
            is_whole_page,
            side_max,
        };
        let jpeg = browser.chromium.screenshot(tab, shot).await.unwrap();
        assert_eq!(size_of(&jpeg), expected);
    }
    browser.close().await;
}

#[tokio::test]
async fn steps_reach_the_page_and_what_is_selected_can_be_copied() {
    let Some(mut browser) = StartedChromium::open().await else {
        return;
    };
    let field = "<title>field</title><textarea id=f style='position:fixed;inset:0;width:100%;\
        height:100%' oninput='document.title = this.value'></textarea>\
        <script>onwheel = e => document.title = 'wheel ' + e.deltaY;\
        oncontextmenu = e => { document.title = 'menu'; return false }</script>";
    let secret = "<title>secret</title><input type=password value=hunter2 autofocus \
        onfocus='this.select(); document.title = \"ready\"'>";
    let site = LoopbackSite::new()
        .page("/", html(field))
        .page("/secret", html(secret));
    let tab = browser.tab();
    browser.visit(tab, &site.url("/"), "field").await;
    let key = |key: &str, modifiers: u8| {
        let (key, code, modifiers) = (key.to_owned(), String::new(), KeyModifiers(modifiers));
        let up = (key.clone(), code.clone());
        [
            InputStep::KeyDown {
                key,
                code,
                modifiers,
            },
            InputStep::KeyUp {
                key: up.0,
                code: up.1,
                modifiers,
            },
        ]
    };
    let mut typed = click(50.0, 50.0).all().to_vec();
    typed.extend(key("a", 0));
    typed.extend(key("B", 8));
    typed.push(InputStep::Text {
        text: "ü日本".to_owned(),
    });
    typed.extend(key("x", 0));
    typed.extend(key("Backspace", 0));
    browser.chromium.input(tab, &steps(typed)).await.unwrap();
    browser.until_title(tab, "aBü日本").await;
    browser
        .chromium
        .input(tab, &steps(key("a", 2).into()))
        .await
        .unwrap();
    assert_eq!(browser.chromium.selection(tab).await.unwrap(), "aBü日本");
    let wheel = InputStep::Wheel {
        x: 50.0,
        y: 50.0,
        delta_x: 0.0,
        delta_y: 120.0,
    };
    browser
        .chromium
        .input(tab, &steps(vec![wheel]))
        .await
        .unwrap();
    browser.until_title(tab, "wheel 120").await;
    let (x, y, button) = (9.0, 9.0, MouseButton::Right);
    let right = vec![
        InputStep::MouseMove { x, y },
        InputStep::MouseDown { x, y, button },
        InputStep::MouseUp { x, y, button },
    ];
    browser.chromium.input(tab, &steps(right)).await.unwrap();
    browser.until_title(tab, "menu").await;
    browser.visit(tab, &site.url("/secret"), "ready").await;
    assert_eq!(browser.chromium.selection(tab).await.unwrap(), "");
    browser.close().await;
}

#[tokio::test]
async fn what_a_window_opens_waits_for_its_guard() {
    let Some(mut browser) = StartedChromium::open().await else {
        return;
    };
    let opens = "const w = window.open(''); w.document.write('<title>made here</title><p>made');\
        w.document.close()";
    let site = LoopbackSite::new().page("/", html(&button(opens)));
    let tab = browser.tab();
    browser.visit(tab, &site.url("/"), "button").await;
    browser
        .chromium
        .input(tab, &click(50.0, 50.0))
        .await
        .unwrap();
    let popup = browser
        .until(|browser| {
            let mut tabs = browser.tabs.iter();
            let made = tabs.find(|(_, tab)| tab.1.title == "made here");
            made.map(|(tab, _)| *tab)
        })
        .await;
    let made = TextCondition::Text("made");
    assert_eq!(
        browser.chromium.wait_for(popup, made, A_WHILE).await,
        Ok(true)
    );
    browser.close().await;
}

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
