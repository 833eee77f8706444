//! A model server for tests.
