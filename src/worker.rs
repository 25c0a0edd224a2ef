fn main() {
    web_sys::console::log_1(&"worker".into());
}
