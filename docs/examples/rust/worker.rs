//! A whole worker for Rust 1.80 or newer. Judge it with
//!
//!     cargo build --release --manifest-path docs/examples/rust/Cargo.toml
//!     ojs-conformance worker --time-scale 0.1 -- docs/examples/rust/target/release/worker
use serde_json::{json, Value};
use signal_hook::consts::{SIGCONT, SIGINT, SIGTERM, SIGTSTP};
use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant, SystemTime};

fn env(name: &str, otherwise: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| otherwise.to_string())
}

fn seconds(name: &str, otherwise: &str) -> Duration {
    Duration::from_secs_f64(env(name, otherwise).parse().expect(name))
}

struct Settings {
    base: String,
    queues: Vec<String>,
    places: usize,
    beat: Duration,
    grace: Duration,
    poll: Duration,
    worker_id: String,
    agent: ureq::Agent,
}

static SET: LazyLock<Settings> = LazyLock::new(|| {
    let made = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    Settings {
        base: env("OJS_URL", "http://127.0.0.1:8080") + "/ojs/v1/workers/",
        queues: env("OJS_QUEUES", "default").split(',').map(String::from).collect(),
        places: env("OJS_CONCURRENCY", "10").parse().expect("OJS_CONCURRENCY"),
        beat: seconds("OJS_HEARTBEAT_INTERVAL", "5"),
        grace: seconds("OJS_GRACE_PERIOD", "25"),
        poll: seconds("OJS_POLL_INTERVAL", "1"),
        worker_id: format!("rust-{}-{:x}", std::process::id(), made.as_nanos()),
        agent: ureq::Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(10)))
            .http_status_as_error(false)
            .build()
            .into(),
    }
});

#[derive(Default)]
struct State {
    held: HashMap<String, Arc<Job>>,
    quiet: bool, // what is reported: running or quiet, and terminate at the end
    terminate: bool,
    own_quiet: bool,
    told_quiet: bool,
    fetching: bool,
    beat_now: bool,
    end_by: Option<Instant>,
    endings: u32,
    dead: Option<Duration>,
    lease: Option<Duration>,
}

static STATE: LazyLock<Mutex<State>> = LazyLock::new(Default::default);

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap()
}

impl State {
    fn word(&self) -> &'static str {
        match (self.terminate, self.quiet) {
            (true, _) => "terminate",
            (_, true) => "quiet",
            _ => "running",
        }
    }

    fn settle(&mut self) {
        let wanted = self.own_quiet || self.told_quiet;
        if self.end_by.is_none() && wanted != self.quiet {
            self.quiet = wanted;
            self.beat_now = true;
        }
    }

    /// Begins to end: fetches no more, and lets jobs run on for the grace period.
    fn end(&mut self) {
        if self.end_by.is_none() {
            self.end_by = Some(Instant::now() + SET.grace);
            self.quiet = true;
            self.beat_now = true;
        }
    }
}

/// A job that is held.
struct Job {
    members: Value,
    id: String,
    attempt: u64,
    why: Mutex<Option<&'static str>>,
    ends: Condvar,
}

impl Job {
    fn new(members: Value) -> Arc<Job> {
        Arc::new(Job {
            id: members["id"].as_str().unwrap_or_default().to_string(),
            attempt: members["attempt"].as_u64().unwrap_or_default(),
            members,
            why: Mutex::new(None),
            ends: Condvar::new(),
        })
    }

    /// Stops its handler.
    fn end(&self, why: &'static str) {
        self.why.lock().unwrap().get_or_insert(why);
        self.ends.notify_all();
    }

    fn why(&self) -> Option<&'static str> {
        *self.why.lock().unwrap()
    }

    /// Waits, as handlers do, so that they can be stopped.
    fn sleep(&self, wait: Duration) -> Outcome {
        let why = self.why.lock().unwrap();
        match *self.ends.wait_timeout_while(why, wait, |why| why.is_none()).unwrap().0 {
            Some(why) => Err(why.to_string()),
            None => Ok(Value::Null),
        }
    }

    /// Time for which it is held without a BEAT.
    fn lease(&self) -> Option<Duration> {
        let moment = |name: &str| self.members[name].as_str().and_then(millis_of);
        let lease = moment("lease_expires_at")?.checked_sub(moment("started_at")?)?;
        Some(Duration::from_millis(lease))
    }
}

/// The milliseconds of a timestamp such as 2030-01-31T09:00:00.250Z.
fn millis_of(text: &str) -> Option<u64> {
    let parts: Vec<u64> = text
        .trim_end_matches('Z')
        .split(['-', 'T', ':', '.'])
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    let [year, month, day, hour, minute, second, ref rest @ ..] = parts[..] else { return None };
    // January and February belong to the year before, so that a leap day is the last one.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day;
    let whole = ((days * 24 + hour) * 60 + minute) * 60 + second;
    Some(whole * 1000 + rest.first().copied().unwrap_or_default())
}

type Outcome = Result<Value, String>;

fn handle(job: &Job) -> Outcome {
    let until = |attempt| match job.attempt < attempt {
        true => Err(format!("fails until attempt {attempt}")),
        false => Ok(json!("done")),
    };
    match job.members["type"].as_str().unwrap_or_default() {
        "test.echo" => Ok(job.members["args"].clone()),
        "test.noop" => Ok(Value::Null),
        "test.slow" => {
            let wait = job.members["args"][0]["duration_ms"].as_u64().ok_or("no duration_ms")?;
            job.sleep(Duration::from_millis(wait))
        }
        "test.timeout" => job.sleep(Duration::from_secs(3600)),
        "test.fail_once" => until(2),
        "test.fail_twice" => until(3),
        "test.fail_always" => until(u64::MAX),
        "test.panic" => panic!("a panic"),
        other => Err(format!("no handler for {other}")),
    }
}

/// An answer; its status is 0 if there is none.
struct Answer {
    status: u16,
    told: Value,
    wait: Duration,
}

impl Answer {
    fn again(&self) -> bool {
        self.status == 0 || self.status == 429 || self.status >= 500
    }
}

fn call(path: &str, mut body: Value) -> Answer {
    body["worker_id"] = json!(SET.worker_id);
    try_call(path, &body.to_string()).unwrap_or(Answer {
        status: 0,
        told: Value::Null,
        wait: Duration::ZERO,
    })
}

fn try_call(path: &str, body: &str) -> Option<Answer> {
    let request = SET.agent.post(SET.base.clone() + path);
    let mut response = request.header("Content-Type", "application/json").send(body).ok()?;
    let after = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
    let told = serde_json::from_str(&response.body_mut().read_to_string().ok()?).ok()?;
    let wait = Duration::from_secs(after.unwrap_or(0));
    Some(Answer { status: response.status().as_u16(), told, wait })
}

/// Waits longer after each failure, with jitter.
fn pause(failures: u32, wait: Duration) {
    let chance = RandomState::new().hash_one(failures) as f64 / u64::MAX as f64;
    let grown = Duration::from_millis((100u64 << failures.min(10)).min(10_000));
    sleep(wait.max(grown.mul_f64(0.5 + chance / 2.0)));
}

/// Repeats a call until it is answered. A call refused with 404 or 409 is not repeated.
fn insist(path: &str, body: Value) {
    for failures in 1.. {
        let answer = call(path, body.clone());
        if !answer.again() {
            return;
        }
        pause(failures, answer.wait);
    }
}

/// Sends a BEAT and does what the answer says; true if there was one.
fn beat() -> bool {
    let (reported, ids) = {
        let now = state();
        (now.word(), now.held.keys().cloned().collect::<Vec<_>>())
    };
    let answer = call("heartbeat", json!({"state": reported, "active_job_ids": ids}));
    if answer.status != 200 {
        return false;
    }
    let mut now = state();
    for name in ["jobs_lost", "cancelled_jobs"] {
        for id in answer.told[name].as_array().into_iter().flatten() {
            if let Some(job) = id.as_str().and_then(|id| now.held.remove(id)) {
                job.end("gone");
            }
        }
    }
    match (answer.told["state"].as_str(), reported) {
        (Some("terminate"), _) => now.end(),
        (Some("quiet"), "running") => now.told_quiet = true,
        (Some("running"), "quiet") => now.told_quiet = false,
        _ => {}
    }
    now.settle();
    true
}

/// Runs a job's handler, and reports the outcome until it is answered.
fn run(job: Arc<Job>) {
    if let Some(limit) = job.members["timeout_ms"].as_u64() {
        let late = job.clone();
        spawn(move || {
            sleep(Duration::from_millis(limit));
            late.end("timeout");
        });
    }
    let outcome = catch_unwind(AssertUnwindSafe(|| handle(&job))).unwrap_or(Err("a panic".into()));
    let mut said = json!({"job_id": job.id, "attempt": job.attempt});
    match (outcome, job.why()) {
        (_, Some("gone")) => return,
        (Ok(result), _) => {
            said["result"] = result;
            insist("ack", said);
        }
        (Err(message), why) => {
            said["error"] = json!({"type": why.unwrap_or("error"), "message": message});
            insist("nack", said);
        }
    }
    let mut now = state();
    if now.held.get(&job.id).is_some_and(|held| Arc::ptr_eq(held, &job)) {
        now.held.remove(&job.id);
    }
}

fn new_fetch_id() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    format!("{}-{}", SET.worker_id, NUMBER.fetch_add(1, Ordering::Relaxed))
}

/// Fetches jobs for free places, one FETCH at a time, and begins them.
fn fetch() {
    let (mut failures, mut asked) = (0, None);
    loop {
        let count = {
            let mut now = state();
            if now.end_by.is_some() {
                return;
            }
            let free = SET.places.saturating_sub(now.held.len());
            now.fetching = !now.quiet && free > 0;
            if now.fetching { free } else { 0 }
        };
        if count == 0 {
            sleep(Duration::from_millis(10));
            continue;
        }
        let (id, sent) = asked.get_or_insert_with(|| (new_fetch_id(), Instant::now()));
        let answer = call("fetch", json!({"queues": SET.queues, "count": count, "fetch_id": id}));
        if answer.status != 200 {
            state().fetching = false;
            if answer.status == 409 {
                register();
            }
            failures += 1;
            pause(failures, answer.wait);
            continue;
        }
        let jobs = answer.told["jobs"].as_array().cloned().unwrap_or_default();
        let idle = jobs.is_empty();
        begin(jobs.into_iter().map(Job::new).collect(), count, *sent);
        state().fetching = false;
        (failures, asked) = (0, None);
        if idle {
            sleep(SET.poll);
        }
    }
}

fn begin(mut jobs: Vec<Arc<Job>>, count: usize, mut sent: Instant) {
    let (back, trust) = {
        let mut now = state();
        let back = jobs.split_off(if now.quiet { 0 } else { count.min(jobs.len()) });
        let lease = now.lease.unwrap_or(Duration::from_secs(1800));
        let mut trust = now.dead.unwrap_or(Duration::from_secs(30));
        for job in &jobs {
            now.held.insert(job.id.clone(), job.clone());
            trust = trust.min(job.lease().unwrap_or(lease));
        }
        (back, trust)
    };
    // After a sleep past a lease, ask first which of the jobs are still held.
    while sent.elapsed() > trust {
        let asked = Instant::now();
        if beat() {
            sent = asked;
        } else {
            sleep(SET.beat);
        }
    }
    for job in jobs {
        if job.why().is_none() {
            spawn(move || run(job));
        }
    }
    for job in back {
        insist("nack", json!({"job_id": job.id, "attempt": job.attempt, "requeue": true}));
    }
}

/// Registers the worker, until the server has answered or has no such call.
fn register() {
    for failures in 1.. {
        let answer = call("register", json!({"queues": SET.queues, "concurrency": SET.places}));
        {
            let mut now = state();
            let told = |name: &str| answer.told[name].as_f64().map(Duration::from_secs_f64);
            now.dead = told("heartbeat_timeout").or(now.dead);
            now.lease = told("visibility_timeout_default").or(now.lease);
            if now.end_by.is_some() || !answer.again() {
                return;
            }
        }
        pause(failures, answer.wait);
    }
}

fn hear(mut signals: signal_hook::iterator::Signals) {
    for signal in signals.forever() {
        let mut now = state();
        match signal {
            SIGTSTP => now.own_quiet = true,
            SIGCONT => (now.own_quiet, now.told_quiet) = (false, false),
            _ => {
                now.endings += 1;
                if now.endings > 1 {
                    std::process::exit(128 + signal);
                }
                now.end();
            }
        }
        now.settle();
    }
}

/// Sends BEATs at the interval, and one at once when the state changes.
fn beat_until(over: impl Fn(&State) -> bool) {
    let mut due = Instant::now();
    loop {
        {
            let mut now = state();
            if over(&now) {
                return;
            }
            if std::mem::take(&mut now.beat_now) {
                due = Instant::now();
            }
        }
        if Instant::now() >= due {
            due = Instant::now() + SET.beat;
            beat();
        }
        sleep(Duration::from_millis(10));
    }
}

fn main() {
    let heard = [SIGTERM, SIGINT, SIGTSTP, SIGCONT];
    let signals = signal_hook::iterator::Signals::new(heard).expect("signals");
    spawn(move || hear(signals));
    register();
    beat();
    spawn(fetch);
    beat_until(|now| now.end_by.is_some() && !now.beat_now);
    beat_until(|now| now.held.is_empty() && !now.fetching || now.end_by < Some(Instant::now()));
    let code = {
        let mut now = state();
        now.terminate = true;
        now.held.values().for_each(|job| job.end("shutdown"));
        i32::from(!now.held.is_empty())
    };
    let last = Instant::now() + Duration::from_secs(2);
    while !state().held.is_empty() && Instant::now() < last {
        sleep(Duration::from_millis(10));
    }
    beat();
    call("deregister", json!({}));
    std::process::exit(code);
}
