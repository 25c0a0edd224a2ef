//! Configurations of experiments against what the reference makes of them.

use crate::support::data_dirs;
use serde_json::{Value, json};
use tracedrop::analysis::Query;
use tracedrop::engine::{Session, Shown};
use tracedrop::memory_config::{self, Config, ConfigError};
use tracedrop::report::{Report, Table};

fn cases() -> Vec<Value> {
    let read = |dir: std::path::PathBuf| {
        let text = std::fs::read_to_string(dir.join("cases/configs.json")).unwrap();
        serde_json::from_str::<Vec<Value>>(&text).unwrap()
    };
    data_dirs("mrm").into_iter().flat_map(read).collect()
}

/// Values, plans and counts are those of the reference; messages are in our own words, at the same places.
#[test]
fn configurations_are_read_as_by_the_reference() {
    for case in cases() {
        let name = case["name"].as_str().unwrap();
        let got = Config::read(case["yaml"].as_str().unwrap().as_bytes());
        if case["error"].is_null() {
            let config = got.unwrap();
            let values: Value = serde_json::from_str(&config.values.to_python_text(2)).unwrap();
            assert_eq!(values, case["config"], "{name}");
            assert_eq!(config.errors().len(), case["errors"].as_array().unwrap().len(), "{name}");
            assert_eq!(config.warnings().len(), case["warnings"].as_array().unwrap().len(), "{name}");
            assert_eq!(json!(config.n_runs().0), case["n_runs"], "{name}");
            let plan = config.plan().map(|run| {
                json!([
                    run.name,
                    run.model,
                    run.context_length,
                    run.batch_size,
                    run.output_tokens,
                    run.repetition,
                    run.is_warm_up,
                    run.output_dir
                ])
            });
            let wanted = case["plan"].as_array().unwrap();
            assert_eq!(&plan.take(wanted.len()).collect::<Vec<_>>(), wanted, "{name}");
            assert_eq!(config.plan().count() as u64, config.n_runs().0);
            continue;
        }
        let first = case["message_first_line"].as_str().unwrap();
        let told = case["message_has"].as_array().unwrap();
        match got.unwrap_err() {
            ConfigError::Empty => assert!(first.contains("empty"), "{name}"),
            ConfigError::Yaml { line, .. } => {
                assert!(first.starts_with("Failed to parse YAML"), "{name}");
                assert!((1..=3).contains(&line));
            }
            ConfigError::Invalid(errors) => {
                assert!(
                    told.contains(&json!(format!("{} validation error for ExperimentConfig", errors.len())))
                );
                for error in errors {
                    assert!(told.contains(&json!(error.path)), "{name}: {error:?}");
                }
            }
        }
    }
}

#[test]
fn values_are_taken_leniently_and_all_errors_are_named() {
    let config = |text: &str| Config::read(text.as_bytes());
    let whole = config("experiment: {name: n}\nmodels: [{id: a, engine: vllm, path: p}]\ntelemetry: {capture: 'off'}\nsweep: {repetitions: '3.0'}\n").unwrap();
    assert_eq!(whole.values.at("telemetry.capture"), Some(&tracedrop::base::json::Json::Bool(false)));
    assert_eq!(whole.n_runs(), (3, 3));
    let stamped = whole.plan().next().unwrap().name_at("20260102T030405Z");
    assert_eq!(stamped, "a_ctx2048_batch1_out128_rep0_20260102T030405Z");
    let ConfigError::Invalid(errors) =
        config("experiment: {name: 5, date_created: 2026-01-02}\nmodels: x\nsweep: {batch_sizes: [1, b]}\n")
            .unwrap_err()
    else {
        panic!()
    };
    let paths: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
    assert_eq!(paths, ["experiment.name", "experiment.date_created", "sweep.batch_sizes.1", "models"]);
    assert!(matches!(config("just text"), Err(ConfigError::Invalid(_))));
    assert!(matches!(config("# nothing\n"), Err(ConfigError::Empty)));
}

/// What the reference refuses and takes, beyond the goldens: each was tried with it.
#[test]
fn odd_configurations_fare_as_with_the_reference() {
    let with = |rest: &str| {
        let base = "experiment: {name: t}\nmodels:\n  - {id: m1, engine: llamacpp, path: /m}\n";
        Config::read(format!("{base}{rest}\n").as_bytes())
    };
    for refused in [
        "labeller: {unknown_policy: keep}",
        "labeller: {unknown_policy: nonsense}",
        "prompts: {categories: [a]}",
        "prompts: {source: a, categories: b}",
        "prompts: {source: a, categories: [1]}",
        "x: !!python/object/apply:os.system [ls]",
        "x: !mine [a]",
        "# \u{7}",
        "# \u{0}",
    ] {
        assert!(with(refused).is_err(), "{refused}");
    }
    for taken in [
        "labeller: {unknown_policy: fail_run}",
        "prompts: {source: a}",
        "prompts: {source: a, categories: [b]}",
        "prompts:",
        "x: &a [*a]",
        "sweep: {context_lengths: [1:30]}",
    ] {
        assert!(with(taken).is_ok(), "{taken}: {:?}", with(taken));
    }
    assert!(
        Config::read(b"experiment: {name: t\xe9}\n")
            .unwrap_err()
            .to_string()
            .starts_with("line 1, column 21: ")
    );
    let long = with("sweep: {context_lengths: [99999999999999999999]}").unwrap_err().to_string();
    assert!(long.contains("too large"), "{long}");
    for (base, wanted) in [
        ("/", "/m1/m1_ctx2048_batch1_out128_rep0"),
        ("//x", "//x/m1/m1_ctx2048_batch1_out128_rep0"),
        ("./res//a/.", "res/a/m1/m1_ctx2048_batch1_out128_rep0"),
        ("a/../b", "a/../b/m1/m1_ctx2048_batch1_out128_rep0"),
        ("\"\"", "m1/m1_ctx2048_batch1_out128_rep0"),
    ] {
        let plan = with(&format!("output: {{base_dir: {base}}}")).unwrap();
        assert_eq!(plan.plan().next().unwrap().output_dir, wanted, "{base}");
    }
    let absolute = "experiment: {name: t}\nmodels:\n  - {id: /abs, engine: vllm, path: x}\n";
    let plan = Config::read(absolute.as_bytes()).unwrap();
    assert_eq!(plan.plan().next().unwrap().output_dir, "/abs_ctx2048_batch1_out128_rep0");
}

/// The reports on a file.
fn reports(name: &str, content: &str) -> Vec<Report> {
    let mut session = Session::new(name, content.len() as u64, None, Query::default());
    session.feed(content.as_bytes());
    session.finish().unwrap();
    assert!(!session.can_be_kept());
    session.reports().to_vec()
}

fn table<'a>(report: &'a Report, id: &str) -> Option<&'a Table> {
    report.tables().find(|table| table.id == id)
}

/// Opened as a file, a configuration is told from others by its content, and judged and planned as by the command.
#[test]
fn an_opened_configuration_says_what_the_command_says() {
    let mut n_told = 0;
    for case in cases() {
        let (name, yaml) = (case["name"].as_str().unwrap(), case["yaml"].as_str().unwrap());
        let is_told = yaml.lines().any(|line| line.starts_with("experiment:"));
        if !is_told {
            continue;
        }
        n_told += 1;
        let reports = reports("config.yaml", yaml);
        let [report] = &reports[..] else { panic!("{name}") };
        let judged = memory_config::judge(yaml.as_bytes());
        assert_eq!(
            report.summary.starts_with("Valid configuration"),
            judged.errors.is_empty(),
            "{name}: {}",
            report.summary
        );
        assert_eq!(table(report, "errors").map_or(0, Table::n_rows), judged.errors.len(), "{name}");
        let n_listed = table(report, "plan").map(|plan| plan.n_rows() as u64 + plan.n_left_out);
        assert_eq!(n_listed, judged.config.map(|config| config.n_runs().0), "{name}");
    }
    assert!(n_told > 5);
}

#[test]
fn a_long_plan_is_cut_and_counted() {
    let numbers: Vec<String> = (1..=200).map(|n| n.to_string()).collect();
    let list = numbers.join(", ");
    let yaml = format!(
        "experiment: {{name: n}}\nmodels: [{{id: a, engine: vllm, path: p}}]\nsweep: {{context_lengths: [{list}], batch_sizes: [{list}], repetitions: 1, warmup_runs: 0}}\n"
    );
    let reports = reports("long.yml", &yaml);
    let plan = table(&reports[0], "plan").unwrap();
    assert_eq!((plan.n_rows(), plan.n_left_out), (20_000, 20_000));
}

/// A list of address ranges by itself says what it is of use for.
#[test]
fn address_ranges_alone_say_what_they_are() {
    let list = r#"[{"addr_start": 4096, "addr_end": 8192, "region_type": "kv_cache"}]"#;
    let reports = reports("kv_ranges.json", list);
    let [report] = &reports[..] else { panic!() };
    assert_eq!(report.summary, "1 address range for a memory trace.");
    assert_eq!(table(report, "ranges").unwrap().column("addr_end").unwrap().cells.get(0).plain(), "0x2000");
    let broken = self::reports("kv_ranges.json", r#"[{"addr_start": 4096}]"#);
    assert!(broken[0].summary.contains("Invalid list"));
}
