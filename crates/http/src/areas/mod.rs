//! The areas of the interface, one file each, under the same names as on the other floors.

pub mod accounts;
pub mod agents;
pub mod attachments;
pub mod authors;
pub mod callers;
pub mod canvas;
pub mod commands;
pub mod entries;
pub mod export;
pub mod keys;
pub mod members;
pub mod operating;
pub mod reactions;
pub mod read_cursors;
pub mod rooms;
pub mod search;
pub mod session_tasks;
pub mod settings;
pub mod sign_ins;
pub mod signals;
pub mod streams;
pub mod threads;
pub mod tokens;
