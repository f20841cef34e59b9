//! Nothing: what this application does is in its tests, each a process of its own, since rustls keeps one provider a process.
