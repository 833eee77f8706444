//! The scripted agent, driven over a pipe in memory as a client drives it.

mod calls;
mod mischief;
mod scene;
mod sessions;
mod turns;
