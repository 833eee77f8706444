//! What the link to a cloud service refuses, as codes. Source: contract 5.10 and 5.11.

use guildhall_domain::cloud::CloudRefusal;

use crate::{docs::ErrorDoc, error_catalogue::cloud as catalogue};

pub(super) fn doc(refused: CloudRefusal) -> ErrorDoc {
    match refused {
        CloudRefusal::PageNotFound => catalogue::BILLING_PAGE_NOT_FOUND,
        CloudRefusal::Unreachable => catalogue::CLOUD_UNREACHABLE,
        CloudRefusal::AnswerInvalid => catalogue::CLOUD_ANSWER_INVALID,
        CloudRefusal::NotConfigured => catalogue::CLOUD_NOT_CONFIGURED,
    }
}
