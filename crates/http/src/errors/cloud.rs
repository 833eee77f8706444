//! What the link to a cloud service refuses, as codes. Source: contract 5.10 and 5.11.

use guildhall_domain::cloud::Refused;

use crate::{docs::ErrorDoc, error_catalogue::cloud as catalogue};

pub(super) fn doc(refused: Refused) -> ErrorDoc {
    match refused {
        Refused::PageNotFound => catalogue::BILLING_PAGE_NOT_FOUND,
        Refused::Unreachable => catalogue::CLOUD_UNREACHABLE,
        Refused::AnswerInvalid => catalogue::CLOUD_ANSWER_INVALID,
        Refused::NotConfigured => catalogue::CLOUD_NOT_CONFIGURED,
    }
}
