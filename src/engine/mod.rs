//! The library as request and response.
