//! Icons: 16 × 16, lines of 1.5, in the colour of the text around them.

use leptos::prelude::*;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    Alert,
    ArrowDown,
    Ascending,
    Check,
    Chevron,
    Close,
    Columns,
    Copy,
    Descending,
    Export,
    File,
    Folder,
    Info,
    Keys,
    Lock,
    Note,
    Plus,
    Repair,
    Search,
    Share,
    Skip,
    Sort,
    Stop,
    Swap,
    Theme,
}

impl Shape {
    fn path(self) -> &'static str {
        match self {
            Shape::Alert => {
                "M8 5.25v3.5M8 11v.01M7.1 2.3 1.6 12a1 1 0 0 0 .9 1.5h11a1 1 0 0 0 .9-1.5L8.9 2.3a1 1 0 0 0-1.8 0Z"
            }
            Shape::ArrowDown => "M8 3v10M4 9l4 4 4-4",
            Shape::Ascending => "m4.5 9.5 3.5-4 3.5 4",
            Shape::Check => "m3 8.5 3.2 3.2L13 5",
            Shape::Chevron => "m4.5 6.5 3.5 3.5 3.5-3.5",
            Shape::Close => "m4 4 8 8M12 4l-8 8",
            Shape::Columns => "M2.5 3.5h11v9h-11zM6.2 3.5v9M9.8 3.5v9",
            Shape::Copy => {
                "M5.5 5.5v-2a1 1 0 0 1 1-1h6a1 1 0 0 1 1 1v6a1 1 0 0 1-1 1h-2M3.5 5.5h6a1 1 0 0 1 1 1v6a1 1 0 0 1-1 1h-6a1 1 0 0 1-1-1v-6a1 1 0 0 1 1-1Z"
            }
            Shape::Descending => "m4.5 6.5 3.5 4 3.5-4",
            Shape::Export => "M8 2.5v7.5M4.8 7 8 10.2 11.2 7M2.5 11v1.5a1 1 0 0 0 1 1h9a1 1 0 0 0 1-1V11",
            Shape::File => "M9 2H4.5a1 1 0 0 0-1 1v10a1 1 0 0 0 1 1h7a1 1 0 0 0 1-1V5.500L9 2ZM9 2v3.500h3.5",
            Shape::Folder => {
                "M2 12.500v-9a1 1 0 0 1 1-1h3.200l1.600 2H13a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1H3a1 1 0 0 1-1-1Z"
            }
            Shape::Info => "M8 7.500v3.500M8 5v.01M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0Z",
            Shape::Keys => {
                "M2.5 4h11a1 1 0 0 1 1 1v6a1 1 0 0 1-1 1h-11a1 1 0 0 1-1-1V5a1 1 0 0 1 1-1ZM4.5 7v.01M7 7v.01M9.5 7v.01M11.8 7v.01M5 9.500h6"
            }
            Shape::Lock => {
                "M5 7V5a3 3 0 0 1 6 0v2M4 7h8a1 1 0 0 1 1 1v4.500a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V8a1 1 0 0 1 1-1Z"
            }
            Shape::Note => {
                "m3 13 .8-3.200 7-7a1.200 1.200 0 0 1 1.700 0l.3.3a1.200 1.200 0 0 1 0 1.700l-7 7L3 13ZM9.500 4.500l2 2"
            }
            Shape::Plus => "M8 3v10M3 8h10",
            Shape::Repair => {
                "M10.2 2.600a3.3 3.3 0 0 0-3.1 4.600L2.6 11.700a1.2 1.2 0 0 0 1.7 1.700l4.5-4.500a3.3 3.3 0 0 0 4.5-4L11.2 7 9 6.8 8.9 4.700l2.2-2a3 3 0 0 0-.9-.1Z"
            }
            Shape::Search => "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM10.7 10.7 14 14",
            Shape::Share => "M8 10V2.5M5.2 5.2 8 2.4l2.8 2.8M3.5 8v4.5a1 1 0 0 0 1 1h7a1 1 0 0 0 1-1V8",
            Shape::Skip => "M14 8A6 6 0 1 1 2 8a6 6 0 0 1 12 0ZM3.8 3.800l8.4 8.4",
            Shape::Sort => "m5 6 3-3 3 3M5 10l3 3 3-3",
            Shape::Stop => "M4.5 3.500h7a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1h-7a1 1 0 0 1-1-1v-7a1 1 0 0 1 1-1Z",
            Shape::Swap => {
                "M5 2.5v8.500M2.500 8.500 5 11l2.500-2.500M11 13.500V5M8.500 7.500 11 5l2.500 2.500"
            }
            Shape::Theme => "M8 2a6 6 0 1 0 0 12V2ZM8 2a6 6 0 0 1 0 12",
        }
    }
}

/// Decorative icon next to a text; an icon alone needs a label on its parent.
#[component]
pub fn Icon(shape: Shape) -> impl IntoView {
    view! {
        <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
            <path d=shape.path() />
        </svg>
    }
}
