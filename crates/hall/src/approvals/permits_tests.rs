//! Permits over a real store: asking, holding, deciding, spending, across restarts.
