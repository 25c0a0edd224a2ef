use super::*;

fn hidden(text: &str) -> String {
    hide(text).map_or_else(|| text.to_string(), |without| without.text)
}

#[test]
fn secrets_are_hidden_in_text() {
    let check = |text: &str, wanted: &str| assert_eq!(hidden(text), wanted, "{text}");
    check("train.py --api-key sk-FAKE0000000000000000 --lr 0.1", "train.py --api-key (hidden) --lr 0.1");
    check("train.py --api-key=FAKE0000 --lr 0.1", "train.py --api-key=(hidden) --lr 0.1");
    check("serve --token FAKE", "serve --token (hidden)");
    check("mysql --password 'a b' -h x", "mysql --password '(hidden)' -h x");
    check("AWS_SECRET_ACCESS_KEY=FAKE0000", "AWS_SECRET_ACCESS_KEY=(hidden)");
    check("HF_TOKEN=FAKE python x.py", "HF_TOKEN=(hidden) python x.py");
    check("curl -H Authorization=Bearer FAKE0000 x", "curl -H Authorization=Bearer (hidden) x");
    check("curl -H 'Authorization: Basic RkFLRTpGQUtF' x", "curl -H 'Authorization: Basic (hidden)' x");
    check("X-Api-Key: FAKE0000", "X-Api-Key: (hidden)");
    check("Cookie: sid=FAKE; theme=dark\nHost: x", "Cookie: (hidden)\nHost: x");
    check("with Bearer FAKE00000000", "with Bearer (hidden)");
    check("curl -u ada:FAKE https://x", "curl -u ada:(hidden) https://x");
    check("postgres://ada:FAKE@db.corp:5432/x", "postgres://ada:(hidden)@db.corp:5432/x");
    check("https://FAKE0a1B2c3D4e5F6g7h8@git.corp/x", "https://(hidden)@git.corp/x");
    check("GET /x?token=FAKE&page=2", "GET /x?token=(hidden)&page=2");
    check("GET /x?page=2&sig=aB3%2Fd9Xy7zQ1w2E3r4&n=1", "GET /x?page=2&sig=(hidden)&n=1");
    check("clone with ghp_FAKE00000000000000000000FAKE now", "clone with (hidden) now");
    check("AKIAFAKE0000FAKE0000", "(hidden)");
    check("xoxb-0000000000-FAKE00000000", "(hidden)");
    check("id hf_FAKE0000000000000000FAKE", "id (hidden)");
    check("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl end", "jwt (hidden) end");
    check(
        "-----BEGIN RSA PRIVATE KEY-----\nFAKE\n-----END RSA PRIVATE KEY-----\n",
        "-----BEGIN RSA PRIVATE KEY-----(hidden)-----END RSA PRIVATE KEY-----\n",
    );
    check("-----BEGIN PRIVATE KEY-----\nFAKE", "-----BEGIN PRIVATE KEY-----(hidden)");
    check("the token 9fK2mQ7xZ1cV5bN8 was used", "the token (hidden) was used");
    check(r#"env {"API_KEY":"FAKE","n":1}"#, r#"env {"API_KEY":"(hidden)","n":1}"#);
    check(r#"{\"password\": \"a b\", \"n\": 1}"#, r#"{\"password\": \"(hidden)\", \"n\": 1}"#);
    check("dbPassword=FAKE;Server=x", "dbPassword=(hidden);Server=x");
    check("password: FAKE", "password: (hidden)");
}

/// Issuers give these a fixed length, so they need no digits: a Hugging Face token is 34 letters, and 17% of AWS key ids (16 of
/// A–Z and 2–7) have at most one digit.
#[test]
fn keys_of_a_known_length_need_no_digits() {
    for (opening, body) in [
        ("hf_", "kQwErTyUiOpAsDfGhJkLzXcVbNmQwErTyU"),
        ("AKIA", "IOSFODNNFEXAMPLE"),
        ("ASIA", "IOSFODNN7EXAMPLE"),
        ("glpat-", "aBcDeF-hIjKlMnOpQ_sT"),
        ("ghp_", "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgHiJ"),
    ] {
        let key = format!("{opening}{body}");
        assert_eq!(hidden(&format!("HF: {key}")), "HF: (hidden)");
        // One character less: no key of this issuer.
        let shorter = &key[..key.len() - 1];
        assert_eq!(hidden(shorter), shorter);
    }
}

#[test]
fn what_is_no_secret_stays() {
    for text in [
        "aten::scaled_dot_product_attention",
        "void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4>(Params)",
        "execute_context_0(0)_generation_64(64)",
        "step[DECODE bs=8] token=5 tokens=1040 next_token=17",
        "tokenizer=fast eos_token=</s> pad_token=<pad> max_token: 4096",
        "token: the",
        "key=3f2a9c1e5b7d8f60a1b2c3d4e5f60718 cache_key=deadbeefdeadbeef0123456789abcdef",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "run 123e4567-e89b-12d3-a456-426614174000",
        "PWD=/home/ada OLDPWD=/srv GOOGLE_APPLICATION_CREDENTIALS=/etc/gcp.json",
        "def login(user: str, password: str = None, token: Optional[str] = None)",
        "secrets.py(12): token_hex",
        "std::secret::value password == x",
        "--password-file /etc/pw --token-count 7 --max-tokens 12 --tokenizer gpt2-xl",
        "https://example.com/a@b?page=2&key=name",
        "ssh://git@github.com/x",
        "sk-learn-pipeline-of-transformers",
        "hf_transformers_model_runner",
        "hf_transformersmodelrunnerforwardpassab",
        "glpat-of-words-with-dash",
        "pass=3 bypass: x compass=12",
        "password=(hidden) token=(hidden 2) secret=$SECRET api_key=<key> password=***",
        "wrong password: try again later",
        "ASIANOPTIONS",
        "Basic block 12, basic: yes",
        "monkey=1 hotkey: F5 primary_key=17 foreign_key=ab12cd34ef56 sort_key=x",
        "author=Ada authored: x",
    ] {
        assert_eq!(hide(text), None, "{text}");
    }
}

#[test]
fn members_and_elements_are_judged_by_those_before_them() {
    let check = |raw: &str, wanted: &str| {
        let hidden = hide_json(raw.as_bytes()).map_or(raw.as_bytes().to_vec(), |(hidden, _)| hidden);
        assert_eq!(String::from_utf8_lossy(&hidden), wanted, "{raw}");
    };
    check(
        r#"["train.py","--api-key","FAKE", "--lr","1"]"#,
        r#"["train.py","--api-key","(hidden)", "--lr","1"]"#,
    );
    check(
        r#"{"environ":["AWS_SECRET_ACCESS_KEY=FA KE","A=b"]}"#,
        r#"{"environ":["AWS_SECRET_ACCESS_KEY=(hidden)","A=b"]}"#,
    );
    check(r#"[["HF_TOKEN","FAKE"],["PATH","/bin"]]"#, r#"[["HF_TOKEN","(hidden)"],["PATH","/bin"]]"#);
    check(r#"["HF_TOKEN","API_KEY"]"#, r#"["HF_TOKEN","API_KEY"]"#);
    check(
        r#"[{"name":"DB_PASSWORD","value":"FAKE"},{"name":"A","value":"b"}]"#,
        r#"[{"name":"DB_PASSWORD","value":"(hidden)"},{"name":"A","value":"b"}]"#,
    );
    check(r#"{"password": 12345, "n_tokens": 12345}"#, r#"{"password": "(hidden)", "n_tokens": 12345}"#);
    check(r#"{"secrets":{"db":"FAKE","n":1}}"#, r#"{"secrets":{"db":"(hidden)","n":1}}"#);
    check(r#"{"text":"{\"api_key\":\"FAKE\"}"}"#, r#"{"text":"{\"api_key\":\"(hidden)\"}"}"#);
    check(r#"{"DB_PASSWORD":"cut"#, r#"{"DB_PASSWORD":"(hidden)"#);
    check(
        r#"{"HF_TOKEN": "hf_a\"b", "n_tokens":"7","env":{"PATH":"/bin"}}"#,
        r#"{"HF_TOKEN": "(hidden)", "n_tokens":"7","env":{"PATH":"/bin"}}"#,
    );
    // Keys are texts as well.
    check(
        r#"{"password=FAKE0000":1,"a":{"url https://u:FAKE0000@h/":"z"}}"#,
        r#"{"password=(hidden)":1,"a":{"url https://u:(hidden)@h/":"z"}}"#,
    );
    check(r#"{"token":"the","piece":"ing"}"#, r#"{"token":"the","piece":"ing"}"#);
    check(r#"{"correlation":12,"grid":[1,2,3],"key":"a"}"#, r#"{"correlation":12,"grid":[1,2,3],"key":"a"}"#);
}

#[test]
fn hiding_twice_changes_nothing() {
    for text in ["--api-key FAKE0000 x", "postgres://a:FAKE@b/c?token=FAKE", "Authorization: Bearer FAKE0000"]
    {
        let once = hidden(text);
        assert_eq!(hidden(&once), once);
        let numbered = once.replace(HIDDEN, "(hidden 2)");
        assert_eq!(hidden(&numbered), numbered);
    }
}

/// Every start is in the table that most texts are checked with.
#[test]
fn each_opening_is_seen_in_any_case() {
    for needle in NEEDLES {
        assert!(
            may_hold(format!("xx {needle}").as_bytes()) && may_hold(needle.to_uppercase().as_bytes()),
            "{needle}"
        );
    }
    assert!(!may_hold(b"void at::native::vectorized_elementwise_kernel<4, float>(int)"));
}

/// Brackets at the start don't make a text JSON: dictionaries of Python, lines of logs.
#[test]
fn texts_in_brackets_are_searched_too() {
    for (text, right) in [
        ("{'HF_TOKEN': 'labelsecretZ'}", "{'HF_TOKEN': '(hidden)'}"),
        ("[info] run --password labelsecretA ok", "[info] run --password (hidden) ok"),
        ("[2026-01-01] HF_TOKEN=labelsecretB", "[2026-01-01] HF_TOKEN=(hidden)"),
        ("[rank0] https://bob:labelsecretC@host/x", "[rank0] https://bob:(hidden)@host/x"),
        (r#"{"api_key": "labelsecretD"}"#, r#"{"api_key": "(hidden)"}"#),
        (r#"{"api_key": "labelsecretE", "x": "#, r#"{"api_key": "(hidden)", "x": "#),
        (r#"["--api-key", "labelsecretF"]"#, r#"["--api-key", "(hidden)"]"#),
    ] {
        let without = hide_value("cmd", text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!((without.text.as_str(), without.n), (right, 1), "{text}");
    }
    assert!(hide_value("cmd", "[rank 0] aten::mm (2 of 3)").is_none());
    for (key, text) in
        [("password", "[hunter2x9"), ("db_password", "{sw0rdfish}"), ("passwords", "['labelA1','labelB2']")]
    {
        let without = hide_value(key, text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(without.text, HIDDEN, "{text}");
    }
}
