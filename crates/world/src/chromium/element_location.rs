//! Finding an element of a page, and the place where a click reaches it and nothing else.

use guildhall_domain::{browser::ToolDenial, ids::TabId};
use serde_json::{Value, json};

use super::{
    BrowserError, Chromium, accessibility_tree, isolated_scripts,
    protocol_events::text,
    target_registry::{RegisteredElement, RegisteredPage},
};

impl Chromium {
    /// The middle of what is in view of an element, when a click there reaches it.
    pub(super) async fn click_point(
        &self,
        session: &str,
        element: &RegisteredElement,
    ) -> Result<(f64, f64), BrowserError> {
        let node = json!({ "backendNodeId": element.node });
        let ask = |method| self.call(session, method, node.clone());
        let scrolled = ask("DOM.scrollIntoViewIfNeeded").await;
        match scrolled {
            Ok(_) => {}
            // It is there and takes no room.
            Err(BrowserError::Refused(why)) if why.contains("layout object") => {
                return Err(ToolDenial::Covered.into());
            }
            Err(error) => return Err(stale_ref_error(error)),
        }
        let quads = ask("DOM.getContentQuads").await.map_err(stale_ref_error)?;
        let view = self.view(session).await?;
        let quads = quads["quads"].as_array().map(Vec::as_slice);
        let quads = quads.unwrap_or_default();
        let place = quads.iter().find_map(|quad| view.middle_of(quad));
        let (x, y) = place.ok_or(ToolDenial::Covered)?;
        let at = json!({
            "x": (x + view.page_x).floor() as i64, "y": (y + view.page_y).floor() as i64,
        });
        let hit = self.call(session, "DOM.getNodeForLocation", at).await;
        let hit = match hit {
            Ok(hit) => hit["backendNodeId"].as_i64().unwrap_or_default(),
            Err(BrowserError::Refused(_)) => return Err(ToolDenial::Covered.into()),
            Err(error) => return Err(error),
        };
        if hit == element.node || self.reaches(session, element, hit).await? {
            Ok((x, y))
        } else {
            Err(ToolDenial::Covered.into())
        }
    }

    /// Whether a click on `hit` reaches the element.
    async fn reaches(
        &self,
        session: &str,
        element: &RegisteredElement,
        hit: i64,
    ) -> Result<bool, BrowserError> {
        let world = self
            .isolated_world(session, &element.frame)
            .await
            .map_err(stale_ref_error)?;
        // What is in another frame cannot be brought into this one's world.
        let hit = match self.object(session, hit, world).await {
            Ok(hit) => hit,
            Err(BrowserError::Refused(_)) => return Ok(false),
            Err(error) => return Err(error),
        };
        let arguments = [json!({ "objectId": hit })];
        let reached = self.run(session, element, isolated_scripts::REACHES, &arguments);
        Ok(reached.await? == true)
    }

    async fn object(&self, session: &str, node: i64, world: i64) -> Result<String, BrowserError> {
        let node = json!({ "backendNodeId": node, "executionContextId": world });
        let object = self.call(session, "DOM.resolveNode", node).await?;
        Ok(text(&object, "/object/objectId").to_owned())
    }

    /// Runs one of our own scripts on an element, in our own world.
    pub(super) async fn run(
        &self,
        session: &str,
        element: &RegisteredElement,
        script: &str,
        arguments: &[Value],
    ) -> Result<Value, BrowserError> {
        let world = self
            .isolated_world(session, &element.frame)
            .await
            .map_err(stale_ref_error)?;
        let object = self.object(session, element.node, world).await;
        let ask = json!({
            "objectId": object.map_err(stale_ref_error)?, "functionDeclaration": script,
            "arguments": arguments, "returnByValue": true,
        });
        let mut answer = self.call(session, "Runtime.callFunctionOn", ask).await?;
        Ok(answer["result"]["value"].take())
    }

    /// Whether what has the focus is a field for a secret, as far as frames of this process go.
    pub(super) async fn is_focus_secret(
        &self,
        tab: TabId,
        session: &str,
        target: &str,
    ) -> Result<bool, BrowserError> {
        let world = self.isolated_world(session, target).await?;
        let ask = json!({ "expression": isolated_scripts::FOCUS, "contextId": world });
        let focus = self.call(session, "Runtime.evaluate", ask).await?;
        let object = text(&focus, "/result/objectId");
        if object.is_empty() {
            return Ok(false);
        }
        let object = json!({ "objectId": object });
        let described = self.call(session, "DOM.describeNode", object).await?;
        let node = described
            .pointer("/node/backendNodeId")
            .and_then(Value::as_i64);
        let is_known =
            |page: &mut RegisteredPage| node.is_some_and(|node| page.secrets.contains(&node));
        Ok(accessibility_tree::is_secret(&described) || self.shared.book.page(tab, is_known)?)
    }

    pub(super) async fn view(&self, session: &str) -> Result<VisibleArea, BrowserError> {
        let metrics = self
            .call(session, "Page.getLayoutMetrics", json!({}))
            .await?;
        let number = |name: &str| {
            metrics["cssLayoutViewport"][name]
                .as_f64()
                .unwrap_or_default()
        };
        Ok(VisibleArea {
            width: number("clientWidth"),
            height: number("clientHeight"),
            page_x: number("pageX"),
            page_y: number("pageY"),
        })
    }
}

/// What is not there any more.
pub(super) fn stale_ref_error(error: BrowserError) -> BrowserError {
    match error {
        BrowserError::Refused(_) => ToolDenial::StaleRef.into(),
        other => other,
    }
}

/// What of a page is in view.
pub(super) struct VisibleArea {
    pub(super) width: f64,
    pub(super) height: f64,
    page_x: f64,
    page_y: f64,
}

impl VisibleArea {
    /// The middle of what is in view of a quad (four corners, x and y in turn).
    fn middle_of(&self, quad: &Value) -> Option<(f64, f64)> {
        let numbers: Vec<f64> = quad.as_array()?.iter().filter_map(Value::as_f64).collect();
        let middle = |first: usize, side: f64| {
            let corners = numbers.iter().skip(first).step_by(2);
            let least = corners.clone().copied().fold(f64::INFINITY, f64::min);
            let most = corners.copied().fold(f64::NEG_INFINITY, f64::max);
            let (least, most) = (least.max(0.0), most.min(side));
            (least < most).then_some((least + most) / 2.0)
        };
        Some((middle(0, self.width)?, middle(1, self.height)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_that_of_what_is_in_view() {
        let view = VisibleArea {
            width: 800.0,
            height: 600.0,
            page_x: 0.0,
            page_y: 900.0,
        };
        for (quad, expected) in [
            ([10, 10, 30, 10, 30, 20, 10, 20], Some((20.0, 15.0))),
            ([0, -500, 800, -500, 800, 100, 0, 100], Some((400.0, 50.0))),
            ([0, 0, 0, 0, 0, 0, 0, 0], None),
            ([0, 700, 10, 700, 10, 800, 0, 800], None),
        ] {
            assert_eq!(view.middle_of(&json!(quad)), expected, "{quad:?}");
        }
        assert_eq!(view.middle_of(&json!([])), None);
    }
}
