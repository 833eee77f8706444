//! What an agent sees of a page and does there. Source: contract 7.8, "Tool rule", 7.12 (17).

use std::time::Duration;

use guildhall_domain::{
    browser::{BrowserAddress, MouseButton, ToolDenial},
    ids::TabId,
};
use guildhall_world::chromium::{BrowserError, DispatchOutcome, TextCondition};

use super::{
    A_WHILE, StartedChromium,
    loopback_site::{LoopbackSite, html},
};

/// A browser at a page with this body, once its title is `ready`.
async fn at(body: &str) -> Option<(StartedChromium, TabId, LoopbackSite)> {
    let mut browser = StartedChromium::open().await?;
    let site = LoopbackSite::new()
        .page("/", html(&format!("<title>ready</title>{body}")))
        .page("/other", html("<title>other</title><button>Other</button>"));
    let tab = browser.tab();
    browser.visit(tab, &site.url("/"), "ready").await;
    Some((browser, tab, site))
}

/// The ref of the line that begins with these words.
async fn reference(browser: &StartedChromium, tab: TabId, words: &str) -> u64 {
    let snapshot = browser.chromium.snapshot(tab).await.unwrap();
    found(&snapshot.text, words)
}

fn found(text: &str, words: &str) -> u64 {
    let line = text.lines().find(|line| line.contains(words));
    let line = line.unwrap_or_else(|| panic!("no {words} in\n{text}"));
    let (_, rest) = line.split_once("[ref=e").unwrap();
    rest.split_once(']').unwrap().0.parse().unwrap()
}

const DENIED_STALE: Result<DispatchOutcome, BrowserError> =
    Err(BrowserError::Denied(ToolDenial::StaleRef));
const DENIED_COVERED: Result<DispatchOutcome, BrowserError> =
    Err(BrowserError::Denied(ToolDenial::Covered));

#[tokio::test]
async fn an_outline_names_what_can_be_used_and_holds_no_secret() {
    let Some((browser, tab, site)) = at("<h1>Sign in</h1><label>User <input value=ada></label>\
        <label>Password <input type=password value=hunter2secret></label>\
        <input aria-label=Code autocomplete=one-time-code value=987654>\
        <p>Your code is 987654.</p><label><input type=checkbox checked> Stay</label>\
        <button disabled>Go</button><div hidden>unseen</div><a href=/other>Lost?</a>")
    .await
    else {
        return;
    };
    let snapshot = browser.chromium.snapshot(tab).await.unwrap();
    assert_eq!(
        (snapshot.url, snapshot.title),
        (site.url("/"), "ready".to_owned())
    );
    let text = snapshot.text;
    for line in [
        "heading \"Sign in\"",
        "textbox \"User\" [ref=e1]: \"ada\"",
        "textbox \"Password\" [ref=e2] [secret]\n",
        "textbox \"Code\" [ref=e3] [secret]\n",
        "checkbox \"Stay\" [ref=e4] [checked]",
        "button \"Go\"",
        "[disabled]",
        "link \"Lost?\"",
        "Your code is •••.",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    for secret in ["hunter2secret", "987654", "unseen", "•••••••"] {
        assert!(!text.contains(secret), "{secret} in\n{text}");
    }
    browser.close().await;
}

#[tokio::test]
async fn a_secret_that_a_page_uncovers_stays_one() {
    let Some((browser, tab, _site)) = at("<input id=f type=password value=hunter2secret>\
        <button onclick=\"f.type='text'\">Show</button>")
    .await
    else {
        return;
    };
    let show = reference(&browser, tab, "Show").await;
    let click = browser.chromium.click(tab, show, MouseButton::Left, false);
    assert_eq!(click.await, Ok(DispatchOutcome::Done));
    let text = browser.chromium.snapshot(tab).await.unwrap().text;
    assert!(!text.contains("hunter2"), "{text}");
    let field = found(&text, "textbox");
    let typed = browser.chromium.type_text(tab, field, "x", false).await;
    assert_eq!(typed, Err(BrowserError::Denied(ToolDenial::SecretField)));
    browser.close().await;
}

#[tokio::test]
async fn a_click_reaches_its_element_wherever_that_is() {
    let Some((mut browser, tab, _site)) = at("<div style='height:4000px'></div>\
        <button onclick=\"document.title='clicked'\" ondblclick=\"document.title='twice'\">Far\
        </button><label style='position:relative'><input type=checkbox style='opacity:0' \
        onchange=\"document.title='checked'\"><span style='position:absolute;inset:0'>Box</span>\
        </label><div style='overflow:auto;height:100px'><div style='height:900px'></div>\
        <button onclick=\"document.title='inner'\"><b>In</b>ner</button></div>")
    .await
    else {
        return;
    };
    for (words, is_double, title) in [
        ("Far", false, "clicked"),
        ("Far", true, "twice"),
        ("checkbox", false, "checked"),
        ("Inner", false, "inner"),
    ] {
        let number = reference(&browser, tab, words).await;
        let click = browser
            .chromium
            .click(tab, number, MouseButton::Left, is_double);
        assert_eq!(click.await, Ok(DispatchOutcome::Done), "{words}");
        browser.until_title(tab, title).await;
    }
    browser.close().await;
}

#[tokio::test]
async fn what_lies_below_something_else_is_not_clicked() {
    let Some((browser, tab, _site)) = at("<button onclick=\"document.title='clicked'\">Below\
        </button><button id=n style='display:none'>None</button>\
        <div id=over style='position:fixed;inset:0;background:white'></div>\
        <iframe style='position:fixed;inset:0' srcdoc='over all'></iframe>")
    .await
    else {
        return;
    };
    let below = reference(&browser, tab, "Below").await;
    let chromium = &browser.chromium;
    let click = chromium.click(tab, below, MouseButton::Left, false).await;
    assert_eq!(click, DENIED_COVERED);
    assert_eq!(chromium.hover(tab, below).await, DENIED_COVERED);
    assert_eq!(browser.page(tab).title, "ready");
    browser.close().await;
}

#[tokio::test]
async fn a_ref_is_of_one_snapshot_of_one_document() {
    let Some((mut browser, tab, site)) = at("<button id=a onclick='this.remove()'>A</button>\
        <button id=b>B</button>")
    .await
    else {
        return;
    };
    let chromium = browser.chromium.clone();
    let click = async |number| chromium.click(tab, number, MouseButton::Left, false).await;
    let first = browser.chromium.snapshot(tab).await.unwrap().text;
    let (a, b) = (found(&first, "\"A\""), found(&first, "\"B\""));
    assert_eq!(click(a).await, Ok(DispatchOutcome::Done));
    assert_eq!(click(a).await, DENIED_STALE, "it is gone");
    let second = browser.chromium.snapshot(tab).await.unwrap().text;
    assert_eq!(click(b).await, DENIED_STALE, "of the snapshot before");
    let b = found(&second, "\"B\"");
    assert_eq!(click(b).await, Ok(DispatchOutcome::Done));
    browser.visit(tab, &site.url("/other"), "other").await;
    assert_eq!(click(b).await, DENIED_STALE, "of the page before");
    assert_eq!(click(0).await, DENIED_STALE);
    browser.close().await;
}

#[tokio::test]
async fn an_agent_writes_into_fields_but_into_no_secret_one() {
    let Some((mut browser, tab, site)) = at("<form action=/other><input name=q aria-label=Query \
        value=old></form><input type=password aria-label=Pass><div contenteditable role=textbox \
        aria-label=Note oninput=\"document.title='note '+this.textContent\">x</div>\
        <button>No field</button>")
    .await
    else {
        return;
    };
    let snapshot = browser.chromium.snapshot(tab).await.unwrap().text;
    let number = |words| found(&snapshot, words);
    let chromium = browser.chromium.clone();
    let write =
        async |words, text, submits| chromium.type_text(tab, number(words), text, submits).await;
    let secret = Err(BrowserError::Denied(ToolDenial::SecretField));
    assert_eq!(write("Pass", "guess", false).await, secret);
    let no_field = write("No field", "x", false).await;
    assert!(matches!(no_field, Err(BrowserError::Refused(_))));
    assert_eq!(write("Note", "new", false).await, Ok(DispatchOutcome::Done));
    browser.until_title(tab, "note new").await;
    // The focus may be brought there otherwise, and keys follow the focus.
    let pass = chromium.click(tab, number("Pass"), MouseButton::Left, false);
    assert_eq!(pass.await, Ok(DispatchOutcome::Done));
    assert_eq!(chromium.press_key(tab, "g", 0).await, secret);
    assert_eq!(chromium.press_key(tab, "v", 2).await, secret);
    assert_eq!(
        chromium.press_key(tab, "Tab", 0).await,
        Ok(DispatchOutcome::Done)
    );
    site.paths();
    assert_eq!(
        write("Query", "new words", true).await,
        Ok(DispatchOutcome::Done)
    );
    browser
        .until_page(tab, |page| page.url.ends_with("/other?q=new+words"))
        .await;
    browser.close().await;
}

#[tokio::test]
async fn an_agent_chooses_scrolls_waits_and_reads_the_console() {
    let Some((mut browser, tab, _site)) = at("<select aria-label=One \
        onchange=\"document.title='chose '+this.value\"><option value=a>Apple<option value=b>Pear\
        </select><select multiple aria-label=More><option>x<option>y</select>\
        <div style='height:5000px'></div><script>onscroll = () => document.title = 'scrolled';\
        console.warn('careful', 7, {a: 1}); setTimeout(() => { throw new Error('oops') });\
        setTimeout(() => document.body.append('late words'), 300)</script>")
    .await
    else {
        return;
    };
    let chromium = browser.chromium.clone();
    let late = chromium.wait_for(tab, TextCondition::Text("late words"), A_WHILE);
    assert_eq!(late.await, Ok(true));
    let gone = TextCondition::TextGone("late words");
    let gone = chromium.wait_for(tab, gone, Duration::from_millis(250));
    assert_eq!(gone.await, Ok(false));
    let snapshot = chromium.snapshot(tab).await.unwrap().text;
    let one = found(&snapshot, "\"One\"");
    let choose = async |number, values: &[&str]| {
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        chromium.select_option(tab, number, &values).await
    };
    assert_eq!(choose(one, &["Pear"]).await, Ok(DispatchOutcome::Done));
    browser.until_title(tab, "chose b").await;
    let more = found(&snapshot, "\"More\"");
    assert_eq!(choose(more, &["x", "y"]).await, Ok(DispatchOutcome::Done));
    for values in [&["Plum"][..], &["a", "b"]] {
        let refused = choose(one, values).await;
        assert!(
            matches!(refused, Err(BrowserError::Refused(_))),
            "{values:?}"
        );
    }
    let turned = chromium.scroll(tab, None, (0.0, 700.0)).await;
    assert_eq!(turned, Ok(DispatchOutcome::Done));
    browser.until_title(tab, "scrolled").await;
    let console = chromium.console(tab, 10).unwrap();
    assert_eq!(
        (console[0].level.as_str(), console[0].text.as_str()),
        ("warning", "careful 7 Object")
    );
    assert!(console[1].text.contains("oops"), "{console:?}");
    assert_eq!(chromium.console(tab, 1).unwrap(), console[1..]);
    browser.close().await;
}

#[tokio::test]
async fn a_navigation_tells_where_it_led() {
    let Some((browser, tab, site)) = at("<p>here").await else {
        return;
    };
    let visit = async |path: &str| {
        let address = BrowserAddress::typed(&site.url(path)).unwrap();
        browser
            .chromium
            .navigate_and_wait(tab, &address)
            .await
            .unwrap()
    };
    let visited = visit("/other").await;
    assert_eq!(
        (visited.url, visited.status),
        (site.url("/other"), Some(200))
    );
    let missing = visit("/missing").await;
    assert_eq!((missing.status, missing.error), (Some(404), None));
    let closed = BrowserAddress::typed("127.0.0.1:9").unwrap();
    let refused = browser
        .chromium
        .navigate_and_wait(tab, &closed)
        .await
        .unwrap();
    assert!(refused.error.is_some(), "{refused:?}");
    browser.close().await;
}

#[tokio::test]
async fn an_agent_waits_while_a_dialog_is_open() {
    let Some((mut browser, tab, _site)) =
        at("<button onclick=\"alert('stop')\">Ask</button>").await
    else {
        return;
    };
    let chromium = browser.chromium.clone();
    let ask = reference(&browser, tab, "Ask").await;
    let click = chromium.click(tab, ask, MouseButton::Left, false).await;
    assert_eq!(click, Ok(DispatchOutcome::Done));
    browser.until_page(tab, |page| page.dialog.is_some()).await;
    let open = BrowserError::Denied(ToolDenial::DialogOpen);
    assert_eq!(chromium.snapshot(tab).await.unwrap_err(), open);
    assert_eq!(chromium.press_key(tab, "a", 0).await.unwrap_err(), open);
    chromium.answer_dialog(tab, true, None).await.unwrap();
    browser.until_page(tab, |page| page.dialog.is_none()).await;
    assert!(chromium.snapshot(tab).await.is_ok());
    browser.close().await;
}
