//! The route table: every address of this server, from top to bottom.

use std::sync::Arc;

use axum::{
    Extension, Router,
    extract::{MatchedPath, Request},
    http::Method,
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing,
};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    areas::{
        accounts, agent_tokens, agents, api_keys, approvals, attachments, authors, backups,
        browser, browser_stream, browser_tabs, callers, canvas, capabilities, cloud, commands,
        connector_auth_flows, connector_connections, connector_executions, connector_providers,
        connector_reviews, directories, entries, export, file_reads, files, health, interactions,
        mcp, mcp_gateway, mcp_servers, mcp_signins, members, messages, oauth_pages, reactions,
        read_cursors, restores, rooms, runtimes, search, served_folders, session_canvas,
        session_tasks, sessions, settings, sign_ins, signals, storage, streams, threads,
        trusted_browsers, turns, usage, workbench,
    },
    browser_faults,
    docs::{self, Docs},
    error_catalogue,
    errors::ApiError,
    guards::GuardRefusal,
    mcp::McpEndpoint,
    openapi,
    state::ServerState,
    web_page,
};

/// The documented routes; the interface document is made of them.
pub(crate) fn documented() -> OpenApiRouter<ServerState> {
    OpenApiRouter::new()
        // Who is calling
        .routes(routes!(callers::whoami))
        .routes(routes!(accounts::register))
        .routes(routes!(accounts::list, accounts::add))
        .routes(routes!(accounts::remove))
        .routes(routes!(sign_ins::login))
        .routes(routes!(sign_ins::logout))
        .routes(routes!(sign_ins::password))
        .routes(routes!(trusted_browsers::make, trusted_browsers::forget))
        .routes(routes!(api_keys::list, api_keys::make))
        .routes(routes!(api_keys::revoke))
        // Authors
        .routes(routes!(authors::list))
        .routes(routes!(authors::own))
        .routes(routes!(authors::get, authors::change))
        .routes(routes!(authors::handles))
        .routes(routes!(authors::set_handle))
        // Rooms
        .routes(routes!(rooms::list, rooms::make))
        .routes(routes!(rooms::get, rooms::change))
        .routes(routes!(members::list, members::add))
        .routes(routes!(members::change, members::remove))
        .routes(routes!(entries::list, entries::post))
        .routes(routes!(entries::get, entries::redact))
        .routes(routes!(reactions::add, reactions::remove))
        .routes(routes!(threads::get))
        .routes(routes!(threads::list))
        .routes(routes!(attachments::upload))
        .routes(routes!(attachments::get))
        .routes(routes!(export::room))
        .routes(routes!(read_cursors::get, read_cursors::set))
        .routes(routes!(signals::send))
        .routes(routes!(turns::list))
        .routes(routes!(turns::get))
        .routes(routes!(turns::run))
        .routes(routes!(turns::halt_room))
        .routes(routes!(turns::halt_agent))
        .routes(routes!(canvas::list, canvas::open))
        .routes(routes!(canvas::get, canvas::change, canvas::close))
        .routes(routes!(canvas::edit))
        .routes(routes!(canvas::thread))
        .routes(routes!(canvas::reload))
        .routes(routes!(search::find))
        // Streams
        .routes(routes!(streams::everything))
        .routes(routes!(streams::of_room))
        .routes(routes!(streams::of_session))
        // Agents
        .routes(routes!(agents::list, agents::register))
        .routes(routes!(agents::get, agents::change, agents::retire))
        .routes(routes!(agent_tokens::list, agent_tokens::mint))
        .routes(routes!(agent_tokens::revoke))
        .routes(routes!(mcp_servers::list, mcp_servers::add))
        .routes(routes!(
            mcp_servers::get,
            mcp_servers::change,
            mcp_servers::remove
        ))
        .routes(routes!(mcp_servers::enable))
        .routes(routes!(mcp_servers::disable))
        .routes(routes!(mcp_servers::test))
        .routes(routes!(mcp_signins::start, mcp_signins::sign_out))
        .routes(routes!(mcp_signins::get))
        .routes(routes!(mcp_signins::set_client, mcp_signins::remove_client))
        .routes(routes!(mcp_servers::discovered))
        .routes(routes!(mcp_servers::import))
        // Connectors
        .routes(routes!(
            connector_providers::list,
            connector_providers::make
        ))
        .routes(routes!(
            connector_providers::change,
            connector_providers::remove
        ))
        .routes(routes!(
            connector_providers::put_toolkit,
            connector_providers::remove_toolkit
        ))
        .routes(routes!(
            connector_providers::set_credential,
            connector_providers::remove_credential
        ))
        .routes(routes!(connector_providers::catalog))
        // Runtimes
        .routes(routes!(capabilities::get))
        .routes(routes!(runtimes::list))
        .routes(routes!(runtimes::check))
        .routes(routes!(usage::get))
        // Sessions
        .routes(routes!(interactions::pending))
        .routes(routes!(interactions::list))
        .routes(routes!(interactions::approve))
        .routes(routes!(interactions::deny))
        .routes(routes!(interactions::batch_approve))
        .routes(routes!(interactions::batch_deny))
        .routes(routes!(interactions::submit_answers))
        .routes(routes!(sessions::list, sessions::open))
        .routes(routes!(sessions::get, sessions::change, sessions::close))
        .routes(routes!(sessions::cancel))
        .routes(routes!(sessions::of_room))
        .routes(routes!(messages::list, messages::send))
        .routes(routes!(messages::queue))
        .routes(routes!(messages::reword, messages::remove))
        .routes(routes!(session_tasks::list))
        .routes(routes!(session_canvas::list, session_canvas::open))
        .routes(routes!(
            session_canvas::get,
            session_canvas::change,
            session_canvas::close
        ))
        .routes(routes!(session_canvas::edit))
        .routes(routes!(session_canvas::reload))
        .routes(routes!(commands::list))
        // Files
        .routes(routes!(directories::list, directories::make))
        .routes(routes!(directories::default))
        .routes(routes!(file_reads::content))
        .routes(routes!(file_reads::raw))
        .routes(routes!(file_reads::tree))
        .routes(routes!(files::save))
        .routes(routes!(files::set_checkbox))
        // What people allow
        .routes(routes!(approvals::list))
        .routes(routes!(approvals::get))
        .routes(routes!(approvals::grant))
        .routes(routes!(approvals::deny))
        .routes(routes!(approvals::withdraw))
        // Settings
        .routes(routes!(settings::get, settings::change))
        // Workbench
        .routes(routes!(workbench::sign))
        .routes(routes!(workbench::revoke))
        .routes(routes!(workbench::probe))
        .routes(routes!(workbench::ports))
        .routes(routes!(workbench::previews))
        .routes(routes!(workbench::close))
        // The local browser
        .routes(routes!(browser::get))
        .routes(routes!(browser::open))
        .routes(routes!(browser::prepare))
        .routes(routes!(browser::close))
        .routes(routes!(browser::share))
        .routes(routes!(browser::pause))
        .routes(routes!(browser_tabs::open))
        .routes(routes!(browser_tabs::close))
        .routes(routes!(browser_tabs::select))
        .routes(routes!(browser_tabs::navigate))
        .routes(routes!(browser_tabs::input))
        .routes(routes!(browser_tabs::resize))
        .routes(routes!(browser_tabs::dialog))
        .routes(routes!(browser_tabs::auth))
        .routes(routes!(browser_tabs::selection))
        .routes(routes!(browser_tabs::screenshot))
        // Connectors: what is granted and run
        .routes(routes!(connector_reviews::open))
        .routes(routes!(connector_reviews::apply))
        .routes(routes!(connector_reviews::granted))
        .routes(routes!(connector_reviews::of_session))
        .routes(routes!(connector_reviews::switch))
        .routes(routes!(connector_reviews::accessible))
        .routes(routes!(connector_reviews::operations))
        .routes(routes!(connector_executions::from_cli))
        .routes(routes!(connector_executions::from_rest))
        .routes(routes!(connector_executions::usage))
        // Connectors: accounts and signing in
        .routes(routes!(
            connector_connections::list,
            connector_auth_flows::connect
        ))
        .routes(routes!(
            connector_connections::get,
            connector_connections::change,
            connector_connections::disconnect
        ))
        .routes(routes!(connector_connections::pause))
        .routes(routes!(connector_connections::resume))
        .routes(routes!(connector_connections::remove))
        .routes(routes!(connector_auth_flows::reconnect))
        .routes(routes!(connector_auth_flows::list))
        .routes(routes!(
            connector_auth_flows::get,
            connector_auth_flows::cancel
        ))
        .routes(routes!(connector_auth_flows::enter_key))
        // Cloud
        .routes(routes!(cloud::status))
        .routes(routes!(cloud::link))
        .routes(routes!(cloud::start))
        .routes(routes!(cloud::cancel))
        .routes(routes!(cloud::check))
        .routes(routes!(cloud::unlink))
        .routes(routes!(cloud::offers))
        .routes(routes!(cloud::open))
        // Operating
        .routes(routes!(backups::list, backups::make))
        .routes(routes!(backups::verify))
        .routes(routes!(backups::file))
        .routes(routes!(restores::start))
        .routes(routes!(restores::last))
        .routes(routes!(restores::decide))
        .routes(routes!(storage::get))
        .routes(routes!(health::alive))
        .routes(routes!(health::ready))
        .routes(routes!(health::metrics))
        .routes(routes!(health::health))
        .routes(routes!(openapi::document))
}

/// The routes of the two listeners, ready to be served.
pub struct Routers {
    /// All of them.
    pub main: Router,
    /// Those that agents may use: what any caller may ask, and open reads.
    pub agents: Router,
}

/// Makes the routes of one server.
pub fn routers(state: ServerState) -> Routers {
    let docs = Arc::new(Docs::new(
        openapi::json,
        error_catalogue::every(),
        browser_faults::ALL,
    ));
    let (documented, _) = documented().split_for_parts();
    let twins = documented.clone().with_state(state.clone());
    let mcp = McpEndpoint::new(twins, state.hall.clone(), Arc::clone(&state.rate_limit));
    let mcp = mcp_routes(mcp);
    let agents = documented
        .clone()
        .route_layer(middleware::from_fn(only_for_agents))
        .merge(mcp.clone())
        .fallback(no_route)
        .method_not_allowed_fallback(wrong_method)
        .with_state(state.clone());
    let main = documented
        .merge(mcp)
        .merge(undocumented())
        .merge(web_page::routes())
        .merge(docs::routes(docs))
        .fallback(web_page::fallback)
        .method_not_allowed_fallback(wrong_method)
        .with_state(state);
    Routers { main, agents }
}

/// Whether the listener for agents has an operation: what any caller may ask, and what is told to
/// nobody in particular. What only people use is not there, so that no credential opens it.
fn is_for_agents(method: &Method, path: &str) -> bool {
    // A HEAD is the GET without its body.
    let method = if method == Method::HEAD {
        &Method::GET
    } else {
        method
    };
    let word = method.as_str().to_ascii_lowercase();
    let gate = openapi::json()["paths"][path][word]["x-gate"].as_str();
    match gate {
        Some("caller") => true,
        Some("open") => method.is_safe(),
        _ => false,
    }
}

async fn only_for_agents(path: MatchedPath, request: Request, next: Next) -> Response {
    match is_for_agents(request.method(), path.as_str()) {
        true => next.run(request).await,
        false => no_route().await.into_response(),
    }
}

/// The routes of the Model Context Protocol, whose own messages describe them.
fn mcp_routes(mcp: McpEndpoint) -> Router<ServerState> {
    Router::new()
        .route("/mcp", routing::post(mcp::answer))
        .route("/mcp/servers/{name}", routing::post(mcp_gateway::answer))
        .layer(Extension(Arc::new(mcp)))
}

/// The routes beside the interface for programs: pages that a person opens, the stream of the
/// local browser, and files of served folders.
fn undocumented() -> Router<ServerState> {
    Router::new()
        .route(
            "/api/local-browser/stream",
            routing::get(browser_stream::open),
        )
        .merge(
            Router::new()
                .route(
                    "/api/oauth/start/{ticket}",
                    routing::get(oauth_pages::start),
                )
                .route("/api/oauth/go/{ticket}", routing::get(oauth_pages::go))
                .route("/api/oauth/callback", routing::get(oauth_pages::callback))
                .route(
                    "/api/auth/open/{token}",
                    routing::get(trusted_browsers::open),
                )
                .route_layer(middleware::from_fn(oauth_pages::refusals_as_pages)),
        )
        .route("/api/oauth/client", routing::get(oauth_pages::client))
        .route(
            "/api/workbench/serve/{token}",
            routing::get(served_folders::get),
        )
        .route(
            "/api/workbench/serve/{token}/",
            routing::get(served_folders::get),
        )
        .route(
            "/api/workbench/serve/{token}/{*splat}",
            routing::get(served_folders::get),
        )
}

async fn no_route() -> impl IntoResponse {
    GuardRefusal::NoRoute
}

async fn wrong_method(_request: Request) -> impl IntoResponse {
    ApiError::new(error_catalogue::METHOD_NOT_ALLOWED)
}
