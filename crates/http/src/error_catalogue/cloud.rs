//! The codes of the cloud link and its pages. Source: contract 5.10 and 5.11.

use crate::docs::ErrorDoc;

catalogue! {
    BILLING_PAGE_NOT_FOUND 404 "No such billing page",
        "There is no billing page of this name.",
        "Ask for portal, checkout or topup.";
    CLOUD_UNREACHABLE 502 "Cloud service unreachable",
        "The cloud service did not answer.",
        "Try again later; nothing else here needs it.";
    CLOUD_ANSWER_INVALID 502 "Cloud service answered badly",
        "The cloud service answered with something of no use.",
        "Check that cloud.url is the address of a cloud service of guildhall.";
    CLOUD_NOT_CONFIGURED 503 "No cloud service",
        "No cloud service is set up. Nothing here needs one.",
        "Set cloud.url, or GUILDHALL_CLOUD_URL, and start the server again, if you want one.";
}
