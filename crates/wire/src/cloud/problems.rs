//! What the companion service says when it does not do what it was asked: RFC 9457.
//! Members beyond the code are left out where they say nothing. Source: contract 5.11.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A problem, sent as `application/problem+json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloudProblem {
    /// Names the kind of problem; `about:blank` where the code says all there is.
    #[serde(rename = "type", default = "about_blank")]
    #[schema(required = true, example = "about:blank")]
    pub kind: String,
    /// The same for all problems of one code.
    pub title: String,
    /// The HTTP status.
    #[schema(example = 409)]
    pub status: u16,
    /// One sentence for a person.
    pub detail: String,
    /// This very problem, as the service's log knows it.
    pub instance: String,
    /// What programs go by.
    #[schema(example = "CONFLICT")]
    pub code: String,
    /// When asking again makes sense.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The plan that would be needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_plan_id: Option<String>,
    /// What people call that plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_plan_display_name: Option<String>,
    /// Where a person can do something about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_url: Option<String>,
    /// What the link there says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_label: Option<String>,
}

fn about_blank() -> String {
    "about:blank".to_owned()
}
