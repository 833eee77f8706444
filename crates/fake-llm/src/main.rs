//! A model server for tests: answers coding agents from the directives in their prompts.
fn main() {}
