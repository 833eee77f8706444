//! Offers, and the addresses of the payment service's pages. No state of a subscription is kept:
//! what was paid is known to the payment service alone.

use axum::{
    Json,
    extract::{Path, State},
};
use guildhall_domain::{Refusal, field_validation::FieldValidator};
use guildhall_wire::cloud::{
    billing::{CheckoutRequest, PaymentPage},
    offers::{BillingInterval, Offers},
    problems::CloudProblem,
};
use guildhall_world::ids;
use tokio::time::Instant;

use crate::{
    instances::LinkedInstance,
    offers,
    pages::{self, HtmlPage},
    problems::Problem,
    request_bodies::JsonBody,
    service_state::{PaymentSetup, ServiceState},
    store::accounts::{self, CustomerRef},
    stripe::{StripeCheckout, StripeError},
};

/// What can be bought, in the service's order.
#[utoipa::path(get, path = "/v1/offers", tag = "billing", operation_id = "offers",
    responses((status = 200, description = "The offers; none without payments", body = Offers),
        (status = 401, description = "UNAUTHENTICATED", body = CloudProblem,
            content_type = "application/problem+json"),
        (status = 429, description = "RATE_LIMITED", body = CloudProblem,
            content_type = "application/problem+json"),
        (status = 503, description = "PAYMENT_SERVICE_UNAVAILABLE", body = CloudProblem,
            content_type = "application/problem+json")),
    security(("key" = [])))]
pub(crate) async fn list(
    State(house): State<ServiceState>,
    _: LinkedInstance,
) -> Result<Json<Offers>, Problem> {
    let Some(paid) = &house.paid else {
        return Ok(Json(Offers::default()));
    };
    Ok(Json(all(paid, paid.stripe.until()).await?))
}

async fn all(paid: &PaymentSetup, until: Instant) -> Result<Offers, Problem> {
    Ok(offers::offers_of(&paid.stripe.prices(until).await?))
}

/// The address of a page where an offer is paid.
#[utoipa::path(post, path = "/v1/checkout", tag = "billing", operation_id = "checkout",
    request_body = CheckoutRequest,
    responses((status = 200, description = "The page", body = PaymentPage),
        (status = 400, description = "MALFORMED_REQUEST", body = CloudProblem,
            content_type = "application/problem+json"),
        (status = 401, description = "UNAUTHENTICATED", body = CloudProblem,
            content_type = "application/problem+json"),
        (status = 404, description = "NOT_FOUND: no such offer", body = CloudProblem,
            content_type = "application/problem+json"),
        (status = 409, description = "CONFLICT", body = CloudProblem,
            content_type = "application/problem+json"),
        (status = 429, description = "RATE_LIMITED", body = CloudProblem,
            content_type = "application/problem+json"),
        (status = 503, description = "PAYMENT_SERVICE_UNAVAILABLE", body = CloudProblem,
            content_type = "application/problem+json")),
    security(("key" = [])))]
pub(crate) async fn checkout(
    State(house): State<ServiceState>,
    by: LinkedInstance,
    JsonBody(ask): JsonBody<CheckoutRequest>,
) -> Result<Json<PaymentPage>, Problem> {
    check(&ask)?;
    let paid = house.paid.as_ref().ok_or(Problem::NoPayments)?;
    let until = paid.stripe.until();
    let offers = all(paid, until).await?.offers;
    let offer = offers.iter().find(|offer| offer.sku_id == ask.sku_id);
    let offer = offer.ok_or(Problem::UnknownOffer)?;
    let is_recurring = offer.interval != BillingInterval::Once;
    pay(&house, paid, &by, &offer.sku_id, is_recurring, until).await
}

fn check(ask: &CheckoutRequest) -> Result<(), Problem> {
    let mut check = FieldValidator::new();
    check.chars("skuId", &ask.sku_id, 1, 200);
    match check.finish() {
        Err(Refusal::Validation(invalid)) => Err(Problem::Invalid(invalid)),
        _ => Ok(()),
    }
}

/// The address of a page where an amount of one's choice is paid.
#[utoipa::path(post, path = "/v1/topup", tag = "billing", operation_id = "topup",
    responses((status = 200, description = "The page", body = PaymentPage),
        (status = 401, description = "UNAUTHENTICATED", body = CloudProblem,
            content_type = "application/problem+json"),
        (status = 404, description = "TOPUP_UNAVAILABLE", body = CloudProblem,
            content_type = "application/problem+json"),
        (status = 409, description = "CONFLICT", body = CloudProblem,
            content_type = "application/problem+json"),
        (status = 429, description = "RATE_LIMITED", body = CloudProblem,
            content_type = "application/problem+json"),
        (status = 503, description = "PAYMENT_SERVICE_UNAVAILABLE", body = CloudProblem,
            content_type = "application/problem+json")),
    security(("key" = [])))]
pub(crate) async fn topup(
    State(house): State<ServiceState>,
    by: LinkedInstance,
) -> Result<Json<PaymentPage>, Problem> {
    let paid = house.paid.as_ref().ok_or(Problem::NoPayments)?;
    let until = paid.stripe.until();
    let price = paid.topup_price.as_ref().ok_or(Problem::NoTopUp)?;
    pay(&house, paid, &by, price, false, until).await
}

/// The address of a page where an account sees and ends what it pays.
#[utoipa::path(post, path = "/v1/portal", tag = "billing", operation_id = "portal",
    responses((status = 200, description = "The page", body = PaymentPage),
        (status = 401, description = "UNAUTHENTICATED", body = CloudProblem,
            content_type = "application/problem+json"),
        (status = 404, description = "NOT_FOUND: nothing was paid yet", body = CloudProblem,
            content_type = "application/problem+json"),
        (status = 409, description = "CONFLICT", body = CloudProblem,
            content_type = "application/problem+json"),
        (status = 429, description = "RATE_LIMITED", body = CloudProblem,
            content_type = "application/problem+json"),
        (status = 503, description = "PAYMENT_SERVICE_UNAVAILABLE", body = CloudProblem,
            content_type = "application/problem+json")),
    security(("key" = [])))]
pub(crate) async fn portal(
    State(house): State<ServiceState>,
    by: LinkedInstance,
) -> Result<Json<PaymentPage>, Problem> {
    let paid = house.paid.as_ref().ok_or(Problem::NoPayments)?;
    let until = paid.stripe.until();
    let account = by.instance().account;
    let customer = house.store.read("finding a customer", move |tx| {
        accounts::known_customer(tx, account)
    });
    let customer = customer.await?.ok_or(Problem::NoCustomer)?;
    let back = house.public.address("/billing/seen");
    let url = paid.stripe.portal(&customer, &back, until).await?;
    Ok(Json(PaymentPage { url }))
}

async fn pay(
    house: &ServiceState,
    paid: &PaymentSetup,
    by: &LinkedInstance,
    price: &str,
    is_recurring: bool,
    until: Instant,
) -> Result<Json<PaymentPage>, Problem> {
    let customer = customer(house, paid, by, until).await?;
    let paying = StripeCheckout {
        price,
        is_recurring,
        customer: &customer,
        account: &by.instance().account.to_string(),
        paid: &house.public.address("/billing/paid"),
        left: &house.public.address("/billing/left"),
    };
    let url = paid.stripe.checkout(paying, until).await?;
    Ok(Json(PaymentPage { url }))
}

/// The customer of an account, made at the first payment.
///
/// The wish stands on the disk before it is sent and names it there: one whose answer was lost, in
/// a crash too, is repeated by its name and makes no second customer.
async fn customer(
    house: &ServiceState,
    paid: &PaymentSetup,
    by: &LinkedInstance,
    until: Instant,
) -> Result<String, Problem> {
    let account = by.instance().account;
    let fresh = format!("guildhall-customer-{}", ids::new());
    let known = house.store.write("wishing for a customer", move |tx| {
        accounts::customer(tx, account, &fresh)
    });
    let wish = match known.await? {
        CustomerRef::Known(customer) => return Ok(customer),
        CustomerRef::Wanted(wish) => wish,
    };
    let made = paid
        .stripe
        .customer(&account.to_string(), &wish, until)
        .await;
    if let Err(failed) = &made
        && is_kept_as_failed(*failed)
    {
        let dropped = house.store.write("dropping a wish", move |tx| {
            accounts::clear_customer_key(tx, account, &wish)
        });
        dropped.await?;
    }
    let made = made?;
    let noted = house.store.write("noting a customer", move |tx| {
        accounts::set_customer(tx, account, &made)
    });
    Ok(noted.await?)
}

/// Whether the payment service would answer a repeat of a wish with the same failure.
fn is_kept_as_failed(failed: StripeError) -> bool {
    match failed {
        // Another request of the same wish is under way.
        StripeError::Refused(http::StatusCode::CONFLICT) => false,
        StripeError::Refused(_) | StripeError::Broken => true,
        // Refused before anything was begun, or nobody knows.
        StripeError::KeyRefused | StripeError::TooOften { .. } | StripeError::Unanswered => false,
    }
}

/// Where the payment service's pages lead back to.
#[utoipa::path(get, path = "/billing/{end}", tag = "pages", operation_id = "billingEnded",
    params(("end" = String, Path, description = "`paid`, `left` or `seen`")),
    responses((status = 200, description = "A page", content_type = "text/html", body = String),
        (status = 404, description = "NOT_FOUND", body = CloudProblem,
            content_type = "application/problem+json")))]
pub(crate) async fn payment_ended(Path(end): Path<String>) -> Result<HtmlPage, Problem> {
    match end.as_str() {
        "paid" => Ok(pages::billing_ended(
            "Thank you",
            "Your payment is on its way.",
        )),
        "left" => Ok(pages::billing_ended(
            "Nothing was paid",
            "You left the payment page.",
        )),
        "seen" => Ok(pages::billing_ended(
            "All done",
            "What you changed is kept.",
        )),
        _ => Err(Problem::NoRoute),
    }
}
