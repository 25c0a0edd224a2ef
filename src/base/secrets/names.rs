//! Setting names that imply secrets, split into words.

/// How strongly a name suggests that its value is a secret.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Telling {
    /// Nothing.
    Not,
    /// The value is a secret if it looks like one: a `token` may be a model's.
    Weak,
    /// The value is a secret in any form.
    Strong,
    /// The value is a list of names and values.
    Cookie,
}

/// Words that imply a secret anywhere in a name, except before [`TAILS`] and [`ABOUT`] words.
const SECRETS: [&str; 22] = [
    "secret",
    "secrets",
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "passcode",
    "credential",
    "credentials",
    "apikey",
    "apikeys",
    "apitoken",
    "authtoken",
    "accesstoken",
    "refreshtoken",
    "bearertoken",
    "secretkey",
    "accesskey",
    "privatekey",
    "clientsecret",
    "dbpassword",
    "authorization",
];
/// Words that make a following `key` a secret.
const OF_KEYS: [&str; 18] = [
    "api",
    "access",
    "secret",
    "private",
    "signing",
    "encryption",
    "auth",
    "account",
    "shared",
    "license",
    "master",
    "service",
    "deploy",
    "ssh",
    "hmac",
    "webhook",
    "subscription",
    "openai",
];
/// Words that make a following `token` a secret.
const OF_TOKENS: [&str; 42] = [
    "access",
    "auth",
    "api",
    "refresh",
    "bearer",
    "session",
    "csrf",
    "xsrf",
    "hf",
    "hub",
    "huggingface",
    "hugging",
    "github",
    "gh",
    "gitlab",
    "slack",
    "bot",
    "npm",
    "pypi",
    "aws",
    "azure",
    "gcp",
    "sas",
    "security",
    "oauth",
    "jwt",
    "user",
    "admin",
    "service",
    "deploy",
    "ci",
    "job",
    "personal",
    "private",
    "push",
    "device",
    "client",
    "secret",
    "vault",
    "registry",
    "login",
    "wandb",
];
/// Words for model tokens.
const OF_MODELS: [&str; 32] = [
    "eos",
    "bos",
    "pad",
    "unk",
    "sep",
    "cls",
    "mask",
    "image",
    "audio",
    "video",
    "next",
    "last",
    "first",
    "new",
    "max",
    "min",
    "per",
    "stop",
    "special",
    "draft",
    "prompt",
    "output",
    "input",
    "cached",
    "generated",
    "prefill",
    "decode",
    "each",
    "every",
    "num",
    "n",
    "accepted",
];
/// Words after one of [`SECRETS`] that keep the value a secret.
const TAILS: [&str; 21] = [
    "key",
    "keys",
    "value",
    "val",
    "text",
    "str",
    "string",
    "prod",
    "production",
    "dev",
    "test",
    "staging",
    "old",
    "new",
    "primary",
    "secondary",
    "default",
    "main",
    "backup",
    "plain",
    "raw",
];
/// Words after one of [`SECRETS`] that make the value a property of the secret, also in variable names.
const ABOUT: [&str; 33] = [
    "id",
    "ids",
    "file",
    "files",
    "path",
    "paths",
    "name",
    "names",
    "type",
    "count",
    "len",
    "length",
    "size",
    "url",
    "uri",
    "endpoint",
    "expiry",
    "expires",
    "expiration",
    "ttl",
    "index",
    "dir",
    "arn",
    "version",
    "policy",
    "limit",
    "enabled",
    "required",
    "provider",
    "manager",
    "store",
    "helper",
    "command",
];

/// How strongly a name suggests a secret: `AWS_SECRET_ACCESS_KEY`, `--api-key`, `metadata.dbPassword`.
pub fn telling(name: &str) -> Telling {
    if name.len() > 200 {
        return Telling::Not;
    }
    let name = name.trim_matches('-');
    let is_variable = name.contains('_') && !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let mut words: [&str; 16] = [""; 16];
    let mut n_words = 0;
    // Of longer names the end counts.
    let mut add = |word| {
        if n_words == words.len() {
            words.rotate_left(1);
            n_words -= 1;
        }
        words[n_words] = word;
        n_words += 1;
    };
    for part in name.split(['_', '-', '.', '/', ' ', '[', ']']).filter(|part| !part.is_empty()) {
        // Splits `dbPassword`, but not `HTTPServer` letter by letter.
        let bytes = part.as_bytes();
        let mut from = 0;
        for at in 1..bytes.len() {
            if bytes[at].is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase() {
                add(&part[from..at]);
                from = at;
            }
        }
        add(&part[from..]);
    }
    let words = &words[..n_words];
    let is_any = |word: &str, of: &[&str]| of.iter().any(|other| word.eq_ignore_ascii_case(other));
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let bare = |word: &str| -> usize { word.trim_end_matches(|c: char| c.is_ascii_digit()).len() };
    let rest_allows = |rest: &[&str]| {
        rest.iter()
            .all(|word| is_number(word) || is_any(word, &TAILS) || is_variable && !is_any(word, &ABOUT))
            || rest.len() <= 3 && matches!(rest, [.., last] if is_any(last, &["key", "token"]))
    };
    let Some(last) = words.last() else { return Telling::Not };
    if is_any(last, &["cookie"])
        && (words.len() == 1 || words.len() == 2 && is_any(words[0], &["set", "http"]))
    {
        return Telling::Cookie;
    }
    let mut strength = Telling::Not;
    for (at, word) in words.iter().enumerate() {
        let word = &word[..bare(word)];
        let before = at.checked_sub(1).map(|before| words[before]);
        let rest = &words[at + 1..];
        let is_password =
            word.len() > 8 && word.as_bytes()[word.len() - 8..].eq_ignore_ascii_case(b"password");
        let is_key = is_any(word, &["key", "keys"]) && before.is_some_and(|before| is_any(before, &OF_KEYS));
        let is_pwd = is_any(word, &["pwd"]) && before.is_some_and(|before| !is_any(before, &["old"]));
        let of_word = if is_any(word, &SECRETS) || is_password || is_key || is_pwd {
            Telling::Strong
        } else if is_any(word, &["token"]) {
            match before {
                Some(before) if is_any(before, &OF_TOKENS) => Telling::Strong,
                Some(before) if is_variable && !is_any(before, &OF_MODELS) && rest.is_empty() => {
                    Telling::Strong
                }
                Some(before) if is_any(before, &OF_MODELS) => Telling::Not,
                _ => Telling::Weak,
            }
        } else if is_any(word, &["auth", "bearer"]) && rest.is_empty() {
            Telling::Weak
        } else {
            Telling::Not
        };
        if of_word != Telling::Not && rest_allows(rest) && strength != Telling::Strong {
            strength = of_word;
        }
    }
    strength
}
