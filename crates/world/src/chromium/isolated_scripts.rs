//! Our own scripts. They run in an isolated world, where no page can see, call or change them.

/// The world they run in.
pub(super) const WORLD: &str = "guildhall";
/// What the script of a window calls.
pub(super) const BINDING: &str = "guildhallTells";
/// It says that the person does something.
pub(super) const HUMAN: &str = "human";
/// It says that its tab is the visible one.
pub(super) const VISIBLE: &str = "visible";

/// Before the title that it tells.
pub(super) const TITLE: &str = "title:";

/// Tells what the page is called, now and whenever that changes, at most twenty times a second:
/// Chromium itself tells it only with the next navigation.
pub(super) const NAME: &str = r#"
(() => {
  if (window !== window.top) return;
  let told = null;
  let waits = false;
  const tell = () => {
    waits = false;
    watch();
    if (document.title === told) return;
    told = document.title;
    guildhallTells('title:' + told.slice(0, 2048));
  };
  const observer = new MutationObserver(() => {
    if (waits) return;
    waits = true;
    setTimeout(tell, 50);
  });
  const watch = () => {
    observer.observe(document, { childList: true });
    if (document.documentElement) observer.observe(document.documentElement, { childList: true });
    if (document.head) {
      observer.observe(document.head, { childList: true, subtree: true, characterData: true });
    }
  };
  watch();
  addEventListener('DOMContentLoaded', tell);
  if (document.readyState !== 'loading') tell();
})();
"#;

/// Tells when the person does something in a window, at most four times a second, and when the
/// tab becomes visible. What an agent does looks trusted as well: who hears it knows when that is.
pub(super) const WATCH: &str = r#"
(() => {
  if (window !== window.top) return;
  let last = 0;
  const human = (event) => {
    const now = Date.now();
    if (!event.isTrusted || (now >= last && now - last < 250)) return;
    last = now;
    guildhallTells('human');
  };
  for (const kind of ['pointerdown', 'pointermove', 'keydown', 'wheel']) {
    addEventListener(kind, human, { capture: true, passive: true });
  }
  const visible = () => {
    if (document.visibilityState === 'visible') guildhallTells('visible');
  };
  document.addEventListener('visibilitychange', visible);
  visible();
})();
"#;

/// The text that is selected, in fields too, but for secret ones.
pub(super) const SELECTION: &str = r#"
(() => {
  const within = (root) => {
    const active = root.activeElement;
    if (active && active.shadowRoot) return within(active.shadowRoot);
    if (active && active.tagName === 'IFRAME' && active.contentDocument) {
      return within(active.contentDocument);
    }
    if (active && active.type === 'password') return '';
    if (active && typeof active.selectionStart === 'number') {
      return active.value.slice(active.selectionStart, active.selectionEnd);
    }
    return String((root.defaultView || window).getSelection());
  };
  return within(document).slice(0, 65536);
})()
"#;

/// Whether a click on this element at that place would reach it: `hit` is what lies on top there.
pub(super) const REACHES: &str = r#"
function (hit) {
  for (let node = hit; node; node = node.parentNode || node.host) {
    if (node === this) return true;
  }
  const element = hit.nodeType === 1 ? hit : hit.parentElement;
  const label = element && element.closest('label');
  return Boolean(label && label.control === this);
}
"#;

/// Selects all that stands in a field, so that what is typed replaces it; says whether it is one.
pub(super) const SELECT_ALL: &str = r#"
function () {
  if (typeof this.select === 'function') {
    this.select();
    return !this.disabled && !this.readOnly;
  }
  if (!this.isContentEditable) return false;
  getSelection().selectAllChildren(this);
  return true;
}
"#;

/// What has the focus, in shadow trees and in frames of the same origin too.
pub(super) const FOCUS: &str = r#"
(() => {
  let active = document.activeElement;
  for (;;) {
    const inner = active && ((active.shadowRoot && active.shadowRoot.activeElement) ||
      (active.contentDocument && active.contentDocument.activeElement));
    if (!inner) return active;
    active = inner;
  }
})()
"#;

/// Chooses options of a list by value or label, and tells the page as a person's choice would.
pub(super) const CHOOSE: &str = r#"
function (values) {
  if (this.tagName !== 'SELECT' || this.disabled) return false;
  const wanted = Array.from(this.options).filter((option) =>
    !option.disabled && (values.includes(option.value) || values.includes(option.label)));
  if (wanted.length < values.length || (!this.multiple && wanted.length !== 1)) return false;
  for (const option of this.options) option.selected = wanted.includes(option);
  this.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
  this.dispatchEvent(new Event('change', { bubbles: true }));
  return true;
}
"#;

/// Whether the page shows a text.
pub(super) const SHOWS: &str = r#"
function (text) {
  return Boolean(document.body) && document.body.innerText.includes(text);
}
"#;
