//! Empty: the tests are the application. Each is a separate process, because rustls has one provider per process.
