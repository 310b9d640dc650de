// A whole worker for Java 17 or newer, with the standard library alone. Judge it with
//   javac -d build docs/examples/Worker.java
//   ojs-conformance worker --time-scale 0.1 -- java -cp build Worker
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import sun.misc.Signal;

public class Worker {
    static final String BASE = env("OJS_URL", "http://127.0.0.1:8080") + "/ojs/v1/workers/";
    static final List<String> QUEUES = List.of(env("OJS_QUEUES", "default").split(","));
    static final int PLACES = Integer.parseInt(env("OJS_CONCURRENCY", "10"));
    static final long BEAT_MS = millis("OJS_HEARTBEAT_INTERVAL", "5");
    static final long GRACE_MS = millis("OJS_GRACE_PERIOD", "25");
    static final long POLL_MS = millis("OJS_POLL_INTERVAL", "1");
    static final String WORKER_ID = UUID.randomUUID().toString();
    static final HttpClient CLIENT = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

    static final Map<String, Job> held = new ConcurrentHashMap<>();
    static volatile String state = "running";
    static volatile boolean ownQuiet, toldQuiet, fetching, beatNow;
    static volatile long endBy, deadMs = 30_000, leaseMs = 1_800_000;
    static int endings;

    interface Handler {
        Object run(Job job) throws Throwable;
    }

    static final Map<String, Handler> HANDLERS = Map.of(
        "test.echo", job -> job.members.get("args"),
        "test.noop", job -> null,
        "test.slow", job -> job.sleep(number(((Map<?, ?>) job.args().get(0)).get("duration_ms"))),
        "test.timeout", job -> job.sleep(3_600_000),
        "test.fail_once", failUntil(2),
        "test.fail_twice", failUntil(3),
        "test.fail_always", failUntil(Integer.MAX_VALUE),
        "test.panic", job -> { throw new StackOverflowError("a panic"); });

    static Handler failUntil(int attempt) {
        return job -> {
            if (job.attempt < attempt) throw new Exception("fails until attempt " + attempt);
            return "done";
        };
    }

    /** A job that is held. */
    static class Job {
        final Map<String, Object> members;
        final String id, type;
        final long attempt;
        private final CountDownLatch ends = new CountDownLatch(1);
        volatile String why;

        Job(Map<String, Object> members) {
            this.members = members;
            id = (String) members.get("id");
            type = (String) members.get("type");
            attempt = number(members.get("attempt"));
        }

        List<?> args() { return (List<?>) members.get("args"); }

        boolean ended() { return ends.getCount() == 0; }

        /** Stops its handler. */
        synchronized void end(String why) {
            if (this.why == null) this.why = why;
            ends.countDown();
        }

        /** Waits, as handlers do, so that they can be stopped. */
        Object sleep(long ms) throws Exception {
            if (ends.await(ms, TimeUnit.MILLISECONDS)) throw new Exception(why);
            return null;
        }

        long leaseMs() {
            Object until = members.get("lease_expires_at"), since = members.get("started_at");
            if (until == null || since == null) return leaseMs;
            return Duration.between(Instant.parse((String) since), Instant.parse((String) until)).toMillis();
        }
    }

    /** An answer; its status is 0 where there is none. */
    record Answer(int status, Map<String, Object> told, long waitMs) {
        boolean again() { return status == 0 || status == 429 || status >= 500; }

        List<?> list(String name) { return told.get(name) instanceof List<?> found ? found : List.of(); }
    }

    @SuppressWarnings("unchecked")
    static Answer call(String path, Map<String, Object> body) {
        Map<String, Object> said = new LinkedHashMap<>(body);
        said.put("worker_id", WORKER_ID);
        var request = HttpRequest.newBuilder(URI.create(BASE + path)).timeout(Duration.ofSeconds(10))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(Json.write(said))).build();
        try {
            var answer = CLIENT.send(request, HttpResponse.BodyHandlers.ofString());
            var told = (Map<String, Object>) new Json(answer.body()).read();
            long wait = answer.headers().firstValueAsLong("Retry-After").orElse(0);
            return new Answer(answer.statusCode(), told, 1000 * wait);
        } catch (Exception error) {
            return new Answer(0, Map.of(), 0); // no answer, or none that can be read
        }
    }

    /** Waits longer after each failure, a part of it by chance. */
    static void pause(int failures, long waitMs) {
        double grown = Math.min(100L << Math.min(failures, 10), 10_000);
        rest(Math.max(waitMs, (long) (grown * ThreadLocalRandom.current().nextDouble(0.5, 1))));
    }

    /** Makes a call until it is heard. What is refused with 404 or 409 is not sent again. */
    static void insist(String path, Map<String, Object> body) {
        for (int failures = 1; ; failures++) {
            Answer answer = call(path, body);
            if (!answer.again()) return;
            pause(failures, answer.waitMs);
        }
    }

    /** Sends a BEAT and does what the answer says; true if there was one. */
    static boolean beat() {
        String reported = state;
        var body = Map.<String, Object>of("state", reported, "active_job_ids", List.copyOf(held.keySet()));
        Answer answer = call("heartbeat", body);
        if (answer.status != 200) return false;
        for (String name : List.of("jobs_lost", "cancelled_jobs"))
            for (Object id : answer.list(name)) {
                Job job = held.remove(id);
                if (job != null) job.end("gone");
            }
        Object word = answer.told.get("state");
        if ("terminate".equals(word)) end();
        if ("quiet".equals(word) && reported.equals("running")) toldQuiet = true;
        if ("running".equals(word) && reported.equals("quiet")) toldQuiet = false;
        settleState();
        return true;
    }

    static synchronized void settleState() {
        String wanted = ownQuiet || toldQuiet ? "quiet" : "running";
        if (endBy == 0 && !wanted.equals(state)) {
            state = wanted;
            beatNow = true;
        }
    }

    /** Begins to end: fetches no more, and lets jobs run on for the grace period. */
    static synchronized void end() {
        if (endBy == 0) {
            endBy = now() + GRACE_MS;
            state = "quiet";
            beatNow = true;
        }
    }

    /** Runs a job's handler, and tells the outcome until it is heard. */
    static void run(Job job) {
        Map<String, Object> said = new HashMap<>(Map.of("job_id", job.id, "attempt", job.attempt));
        Object limit = job.members.get("timeout_ms");
        if (limit != null) begin(() -> { rest(number(limit)); job.end("timeout"); });
        String path = "ack";
        try {
            Handler handler = HANDLERS.get(job.type);
            if (handler == null) throw new Exception("no handler for " + job.type);
            said.put("result", handler.run(job));
        } catch (Throwable error) {
            if ("gone".equals(job.why)) return;
            path = "nack";
            String type = job.why != null ? job.why : error.getClass().getSimpleName();
            said.put("error", Map.of("type", type, "message", String.valueOf(error.getMessage())));
        }
        insist(path, said);
        held.remove(job.id, job);
    }

    /** Fetches jobs for free places, one FETCH at a time, and begins them. */
    @SuppressWarnings("unchecked")
    static void fetch() {
        String fetchId = null;
        long sent = 0;
        for (int failures = 0; endBy == 0; ) {
            int count = PLACES - held.size();
            fetching = state.equals("running") && count > 0;
            if (!fetching) {
                rest(10);
                continue;
            }
            if (fetchId == null) {
                fetchId = UUID.randomUUID().toString();
                sent = now();
            }
            Answer answer = call("fetch", Map.of("queues", QUEUES, "count", count, "fetch_id", fetchId));
            if (answer.status != 200) {
                fetching = false;
                if (answer.status == 409) register();
                pause(++failures, answer.waitMs);
                continue;
            }
            failures = 0;
            fetchId = null;
            List<Job> jobs = new ArrayList<>(), back = new ArrayList<>();
            for (Object each : answer.list("jobs"))
                (jobs.size() < count && state.equals("running") ? jobs : back).add(new Job((Map<String, Object>) each));
            jobs.forEach(job -> held.put(job.id, job));
            // After a sleep past a lease, ask first which of the jobs are still held.
            long trustMs = jobs.stream().mapToLong(Job::leaseMs).reduce(deadMs, Math::min);
            while (now() - sent > trustMs) {
                long asked = now();
                if (beat()) sent = asked;
                else rest(BEAT_MS);
            }
            for (Job job : jobs) if (!job.ended()) begin(() -> run(job));
            for (Job job : back)
                insist("nack", Map.of("job_id", job.id, "attempt", job.attempt, "requeue", true));
            fetching = false;
            if (jobs.isEmpty()) rest(POLL_MS);
        }
    }

    /** Says who is there, until the server has heard it or has no such call. */
    static void register() {
        for (int failures = 1; endBy == 0; failures++) {
            Answer answer = call("register", Map.of("queues", QUEUES, "concurrency", PLACES));
            if (answer.told.get("heartbeat_timeout") instanceof Number dead) deadMs = (long) (1000 * dead.doubleValue());
            if (answer.told.get("visibility_timeout_default") instanceof Number lease)
                leaseMs = (long) (1000 * lease.doubleValue());
            if (!answer.again()) return;
            pause(failures, answer.waitMs);
        }
    }

    /** Sends BEATs in the interval, and one at once where the state changes. */
    static void beatUntil(BooleanSupplier over) {
        for (long due = now(); !over.getAsBoolean(); rest(10))
            if (beatNow || now() >= due) {
                beatNow = false;
                due = now() + BEAT_MS;
                beat();
            }
    }

    public static void main(String[] arguments) {
        for (var each : Map.of("TERM", 143, "INT", 130).entrySet())
            Signal.handle(new Signal(each.getKey()), signal -> {
                if (++endings > 1) Runtime.getRuntime().halt(each.getValue());
                end();
            });
        Signal.handle(new Signal("TSTP"), signal -> { ownQuiet = true; settleState(); });
        Signal.handle(new Signal("CONT"), signal -> { ownQuiet = toldQuiet = false; settleState(); });
        register();
        beat();
        begin(Worker::fetch);
        beatUntil(() -> endBy != 0 && !beatNow);
        beatUntil(() -> held.isEmpty() && !fetching || now() >= endBy);
        state = "terminate";
        int code = held.isEmpty() ? 0 : 1;
        held.values().forEach(job -> job.end("shutdown"));
        for (long last = now() + 2000; !held.isEmpty() && now() < last; rest(10)) ;
        beat();
        call("deregister", Map.of());
        Runtime.getRuntime().halt(code);
    }

    static String env(String name, String otherwise) { return System.getenv().getOrDefault(name, otherwise); }

    static long millis(String name, String otherwise) { return (long) (1000 * Double.parseDouble(env(name, otherwise))); }

    static long number(Object value) { return ((Number) value).longValue(); }

    static long now() { return System.nanoTime() / 1_000_000; }


    static void begin(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
    }

    static void rest(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    /** JSON as maps, lists, strings, longs, doubles, booleans and null. */
    static class Json {
        private final String text;
        private int at;

        Json(String text) { this.text = text; }

        Object read() {
            Object value = value();
            if (next() != 0) throw new IllegalArgumentException("more than one value");
            return value;
        }

        private char next() {
            while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
            return at < text.length() ? text.charAt(at) : 0;
        }

        private boolean took(char wanted) {
            boolean found = next() == wanted;
            if (found) at++;
            return found;
        }

        private void take(char wanted) {
            if (!took(wanted)) throw new IllegalArgumentException(wanted + " expected at " + at);
        }

        private Object value() {
            switch (next()) {
                case '{': {
                    Map<String, Object> found = new LinkedHashMap<>();
                    for (at++; !took('}'); ) {
                        if (!found.isEmpty()) take(',');
                        String name = string();
                        take(':');
                        found.put(name, value());
                    }
                    return found;
                }
                case '[': {
                    List<Object> found = new ArrayList<>();
                    for (at++; !took(']'); found.add(value())) if (!found.isEmpty()) take(',');
                    return found;
                }
                case '"': return string();
            }
            int from = at;
            while (at < text.length() && ",]} \t\r\n".indexOf(text.charAt(at)) < 0) at++;
            String word = text.substring(from, at);
            if (word.equals("null")) return null;
            if (word.equals("true") || word.equals("false")) return word.equals("true");
            if (word.matches("-?\\d{1,18}")) return Long.parseLong(word);
            return Double.parseDouble(word);
        }

        private String string() {
            take('"');
            StringBuilder found = new StringBuilder();
            while (text.charAt(at) != '"') {
                char each = text.charAt(at++);
                if (each == '\\') {
                    each = text.charAt(at++);
                    int known = "bfnrt".indexOf(each);
                    if (known >= 0) each = "\b\f\n\r\t".charAt(known);
                    else if (each == 'u') each = (char) Integer.parseInt(text.substring(at, at += 4), 16);
                }
                found.append(each);
            }
            at++;
            return found.toString();
        }

        static String write(Object value) {
            if (value instanceof Map<?, ?> map) {
                var parts = map.entrySet().stream().map(each -> quoted((String) each.getKey()) + ":" + write(each.getValue()));
                return "{" + String.join(",", parts.toList()) + "}";
            }
            if (value instanceof List<?> list) return "[" + String.join(",", list.stream().map(Json::write).toList()) + "]";
            return value instanceof String text ? quoted(text) : String.valueOf(value);
        }

        private static String quoted(String text) {
            StringBuilder found = new StringBuilder("\"");
            for (char each : text.toCharArray())
                if (each == '"' || each == '\\') found.append('\\').append(each);
                else if (each < ' ') found.append(String.format("\\u%04x", (int) each));
                else found.append(each);
            return found.append('"').toString();
        }
    }
}
