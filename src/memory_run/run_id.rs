//! Names of runs, and the settings encoded in them: `{model}_ctx{n}_batch{n}_out{n}_{warmup|rep{i}}_{YYYYMMDDTHHMMSSZ}`.

use crate::trace::Trace;

/// Run id from the trace, else derived from the file name.
pub fn run_id(trace: &Trace) -> String {
    let told = trace.source.metadata.iter().find(|(key, _)| key == "run_id").map(|(_, value)| value.clone());
    let name = &trace.source.file_name;
    let stem = name.rsplit_once('.').map(|(stem, _)| stem).filter(|stem| !stem.is_empty()).unwrap_or(name);
    told.unwrap_or_else(|| stem.to_string())
}

/// Settings of a run; numbers are the digits in the name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings<'a> {
    pub model: &'a str,
    pub context_length: &'a str,
    pub batch_size: &'a str,
    pub output_tokens: &'a str,
    /// `None` for a warm-up run.
    pub repetition: Option<&'a str>,
}

impl<'a> Settings<'a> {
    /// `None` for names in another form.
    pub fn of_run(run_id: &'a str) -> Option<Settings<'a>> {
        let mut parts = run_id.rsplitn(6, '_');
        let mut next = || parts.next();
        let (time, repetition) = (next()?, next()?);
        let (output, batch, context, model) = (next()?, next()?, next()?, next()?);
        let is_time = time.len() == 16 && time.ends_with('Z') && time.as_bytes().get(8) == Some(&b'T');
        is_time.then_some(())?;
        Some(Settings {
            model,
            context_length: number(context, "ctx")?,
            batch_size: number(batch, "batch")?,
            output_tokens: number(output, "out")?,
            repetition: if repetition == "warmup" { None } else { Some(number(repetition, "rep")?) },
        })
    }
}

/// The digits after a prefix.
fn number<'a>(part: &'a str, word: &str) -> Option<&'a str> {
    let is_number = |digits: &&str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    part.strip_prefix(word).filter(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_how_runs_were_made() {
        for (run_id, wanted) in [
            ("llama_8b_ctx2048_batch1_out64_rep0_20260101T000000Z", Some(("llama_8b", "2048", Some("0")))),
            ("m_ctx512_batch1_out64_warmup_20260101T000000Z", Some(("m", "512", None))),
            ("m_ctx_batch1_out64_rep0_20260101T000000Z", None),
            ("m_ctx12_batch1_out64_rep0", None),
            ("run_20260101_000000", None),
            ("demo_mem_rep1", None),
            ("", None),
        ] {
            let told = Settings::of_run(run_id).map(|run| (run.model, run.context_length, run.repetition));
            assert_eq!(told, wanted, "{run_id}");
        }
    }
}
