//! Empty: the test is the application.
