//! Nothing: what this application does is in its test.
