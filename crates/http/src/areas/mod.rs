//! The areas of the interface, one file each, under the same names as on the other floors.

pub mod accounts;
pub mod agents;
pub mod authors;
pub mod callers;
pub mod canvas;
pub mod entries;
pub mod keys;
pub mod members;
pub mod operating;
pub mod read_cursors;
pub mod rooms;
pub mod settings;
pub mod sign_ins;
pub mod signals;
pub mod streams;
pub mod tokens;
