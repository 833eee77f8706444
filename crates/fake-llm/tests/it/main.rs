//! The model server over its four wires, and real agents that ask it.

mod asking;
#[cfg(feature = "real-agents")]
mod real_agents;
mod rules;
mod wires;
