//! guildhall-cloud, the companion service: it links instances of guildhall to accounts by the
//! device grant, hears their signs of life, and hands out addresses of payment pages.
//! It keeps no state of a subscription; that is the payment service's.

pub mod accounts;
mod activation;
mod billing;
pub mod currency_amounts;
pub mod device_grant;
mod ids;
mod instances;
mod listener;
pub mod oauth;
pub mod offers;
pub mod openapi;
mod pages;
mod problems;
pub mod request_bodies;
mod routes;
mod secret_minting;
mod service_state;
pub mod sessions;
pub mod settings;
pub mod store;
pub mod stripe;

use std::net::SocketAddr;

use guildhall_listener::Limits;
use guildhall_world::clock::Clock;
use tokio::net::TcpListener;

pub use service_state::{PaymentSetup, ServiceState};

/// The service at its address; nothing is answered before it is served.
#[derive(Debug)]
pub struct CompanionService {
    listener: TcpListener,
    house: ServiceState,
}

impl CompanionService {
    /// Puts the service behind a listener.
    pub fn new(listener: TcpListener, house: ServiceState) -> Self {
        Self { listener, house }
    }

    /// Serves until `stop`, then lets requests that run come to their end.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let router = routes::router(self.house);
        listener::serve(self.listener, router, Limits::DEFAULT, stop).await;
    }
}

/// Everything a service needs to be put together.
#[derive(Debug)]
pub struct CompanionConfig {
    /// The open store.
    pub store: store::Store,
    /// What time it is.
    pub clock: Clock,
    /// Where people reach the service; `None` for where it listens.
    pub public: Option<settings::HttpOrigin>,
    /// The way to be paid, if there is one.
    pub paid: Option<PaymentSetup>,
}

impl CompanionConfig {
    /// Puts the service together behind `listener`, which listens on `address`.
    ///
    /// # Errors
    /// When nobody said where people reach it, and it listens beyond this computer.
    pub fn behind(
        self,
        listener: TcpListener,
        address: SocketAddr,
    ) -> Result<CompanionService, settings::SettingError> {
        let public = match self.public {
            Some(public) => public,
            None => settings::HttpOrigin::at(address)?,
        };
        let house = ServiceState::new(self.store, self.clock, public, self.paid);
        Ok(CompanionService::new(listener, house))
    }
}
