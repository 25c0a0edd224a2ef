fn main() {
    let _ = leptos::mount::mount_to_body(|| {
        use leptos::prelude::*;
        view! { <h1>"Tracedrop"</h1> }
    });
}
