//! Addresses of payment pages between an instance and the companion service. Source: contract 5.11.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::request_fields::{Fields, FromFields};

/// Which offer is to be paid for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckoutRequest {
    /// The offer's id, 1 to 200 characters.
    #[schema(min_length = 1, max_length = 200)]
    pub sku_id: String,
}

impl FromFields for CheckoutRequest {
    fn read(fields: &mut Fields) -> Self {
        Self {
            sku_id: fields.text("skuId"),
        }
    }
}

/// Where a payment page is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PaymentPage {
    /// To be opened in a browser, once and soon.
    #[schema(example = "https://checkout.stripe.com/c/pay/cs_test_1")]
    pub url: String,
}
