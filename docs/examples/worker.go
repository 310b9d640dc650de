// A whole worker for Go 1.21 or newer, with the standard library alone. Judge it with
//
//	go build -o worker docs/examples/worker.go
//	ojs-conformance worker --time-scale 0.1 -- ./worker
package main

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

func env(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func seconds(name, otherwise string) time.Duration {
	value, err := strconv.ParseFloat(env(name, otherwise), 64)
	if err != nil {
		panic(fmt.Sprintf("%s must be a number of seconds", name))
	}
	return time.Duration(value * float64(time.Second))
}

func newID() string {
	bytes := make([]byte, 16)
	if _, err := rand.Read(bytes); err != nil {
		panic(err)
	}
	return fmt.Sprintf("%x", bytes)
}

var (
	base      = env("OJS_URL", "http://127.0.0.1:8080") + "/ojs/v1/workers/"
	queues    = strings.Split(env("OJS_QUEUES", "default"), ",")
	places, _ = strconv.Atoi(env("OJS_CONCURRENCY", "10"))
	beatEvery = seconds("OJS_HEARTBEAT_INTERVAL", "5")
	grace     = seconds("OJS_GRACE_PERIOD", "25")
	poll      = seconds("OJS_POLL_INTERVAL", "1")
	workerID  = newID()
	client    = http.Client{Timeout: 10 * time.Second}
)

// Object is a JSON object.
type Object map[string]any

// Job is a job that is held.
type Job struct {
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Args      json.RawMessage `json:"args"`
	Attempt   int             `json:"attempt"`
	TimeoutMS float64         `json:"timeout_ms"`
	Started   time.Time       `json:"started_at"`
	Expires   time.Time       `json:"lease_expires_at"`

	once sync.Once
	ends chan struct{}
	why  string
}

// End stops the job's handler.
func (job *Job) End(why string) {
	job.once.Do(func() { job.why = why; close(job.ends) })
}

// Sleep waits, as handlers do, so that they can be stopped.
func (job *Job) Sleep(wait time.Duration) error {
	select {
	case <-job.ends:
		return errors.New(job.why)
	case <-time.After(wait):
		return nil
	}
}

func failUntil(attempt int) func(*Job) (any, error) {
	return func(job *Job) (any, error) {
		if job.Attempt < attempt {
			return nil, fmt.Errorf("fails until attempt %d", attempt)
		}
		return "done", nil
	}
}

var handlers = map[string]func(*Job) (any, error){
	"test.echo": func(job *Job) (any, error) { return job.Args, nil },
	"test.noop": func(job *Job) (any, error) { return nil, nil },
	"test.slow": func(job *Job) (any, error) {
		var args []struct {
			DurationMS int `json:"duration_ms"`
		}
		if err := json.Unmarshal(job.Args, &args); err != nil {
			return nil, err
		}
		return nil, job.Sleep(time.Duration(args[0].DurationMS) * time.Millisecond)
	},
	"test.timeout":     func(job *Job) (any, error) { return nil, job.Sleep(time.Hour) },
	"test.fail_once":   failUntil(2),
	"test.fail_twice":  failUntil(3),
	"test.fail_always": failUntil(1 << 30),
	"test.panic":       func(job *Job) (any, error) { panic("a panic") },
}

// Answer has the members that this worker reads. A call without an answer has the status 0.
type Answer struct {
	Jobs      []*Job   `json:"jobs"`
	State     string   `json:"state"`
	Lost      []string `json:"jobs_lost"`
	Cancelled []string `json:"cancelled_jobs"`
	DeadS     float64  `json:"heartbeat_timeout"`
	LeaseS    float64  `json:"visibility_timeout_default"`

	status int
	wait   time.Duration
}

func (answer *Answer) again() bool {
	return answer.status == 0 || answer.status == 429 || answer.status >= 500
}

func call(path string, body Object) *Answer {
	body["worker_id"] = workerID
	content, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	response, err := client.Post(base+path, "application/json", bytes.NewReader(content))
	if err != nil {
		return &Answer{}
	}
	defer response.Body.Close()
	var answer Answer
	if json.NewDecoder(response.Body).Decode(&answer) != nil {
		return &Answer{}
	}
	answer.status = response.StatusCode
	if wait, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil {
		answer.wait = time.Duration(wait) * time.Second
	}
	return &answer
}

// Waits longer after each failure, with jitter.
func pause(failures int, wait time.Duration) {
	grown := min(100*time.Millisecond<<min(failures, 10), 10*time.Second)
	grown = grown/2 + time.Duration(mathrand.Int63n(int64(grown/2)))
	time.Sleep(max(wait, grown))
}

// Repeats a call until it is answered. A call refused with 404 or 409 is not repeated.
func insist(path string, body Object) {
	for failures := 1; ; failures++ {
		answer := call(path, body)
		if !answer.again() {
			return
		}
		pause(failures, answer.wait)
	}
}

// Everything below is guarded by the mutex.
var (
	mutex               sync.Mutex
	held                = map[string]*Job{}
	state               = "running"
	ownQuiet, toldQuiet bool
	fetching            bool
	endBy               time.Time
	endings             int
	dead, lease         = 30 * time.Second, 30 * time.Minute
	beatNow             = make(chan struct{}, 1)
)

func locked[T any](read func() T) T {
	mutex.Lock()
	defer mutex.Unlock()
	return read()
}

func soon() {
	select {
	case beatNow <- struct{}{}:
	default:
	}
}

// Sends a BEAT and does what the answer says; true if there was one.
func beat() bool {
	mutex.Lock()
	reported, ids := state, []string{}
	for id := range held {
		ids = append(ids, id)
	}
	mutex.Unlock()
	answer := call("heartbeat", Object{"state": reported, "active_job_ids": ids})
	if answer.status != 200 {
		return false
	}
	mutex.Lock()
	defer mutex.Unlock()
	for _, id := range append(answer.Lost, answer.Cancelled...) {
		if job := held[id]; job != nil {
			job.End("gone")
			delete(held, id)
		}
	}
	switch {
	case answer.State == "terminate":
		end()
	case answer.State == "quiet" && reported == "running":
		toldQuiet = true
	case answer.State == "running" && reported == "quiet":
		toldQuiet = false
	}
	settleState()
	return true
}

func settleState() {
	wanted := "running"
	if ownQuiet || toldQuiet {
		wanted = "quiet"
	}
	if endBy.IsZero() && wanted != state {
		state = wanted
		soon()
	}
}

func end() {
	if endBy.IsZero() {
		endBy, state = time.Now().Add(grace), "quiet"
		soon()
	}
}

// Runs a job's handler, and reports the outcome until it is answered.
func run(job *Job) {
	if job.TimeoutMS > 0 {
		limit := time.Duration(job.TimeoutMS * float64(time.Millisecond))
		defer time.AfterFunc(limit, func() { job.End("timeout") }).Stop()
	}
	result, err := outcome(job)
	body := Object{"job_id": job.ID, "attempt": job.Attempt}
	if err == nil {
		body["result"] = result
		insist("ack", body)
	} else if job.why != "gone" {
		kind := job.why
		if kind == "" {
			kind = "error"
		}
		body["error"] = Object{"type": kind, "message": err.Error()}
		insist("nack", body)
	}
	mutex.Lock()
	defer mutex.Unlock()
	if held[job.ID] == job {
		delete(held, job.ID)
	}
}

func outcome(job *Job) (result any, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	handler := handlers[job.Type]
	if handler == nil {
		return nil, fmt.Errorf("no handler for %s", job.Type)
	}
	return handler(job)
}

func (job *Job) lease() time.Duration {
	if job.Started.IsZero() || job.Expires.IsZero() {
		return lease
	}
	return job.Expires.Sub(job.Started)
}

// Fetches jobs for free places, one FETCH at a time, and begins them.
func fetch() {
	fetchID, failures := "", 0
	var sent time.Time
	for {
		mutex.Lock()
		ending, count := !endBy.IsZero(), places-len(held)
		wanted := !ending && state == "running" && count > 0
		fetching = wanted
		mutex.Unlock()
		if ending {
			return
		}
		if !wanted {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if fetchID == "" {
			fetchID, sent = newID(), time.Now()
		}
		answer := call("fetch", Object{"queues": queues, "count": count, "fetch_id": fetchID})
		if answer.status != 200 {
			locked(func() bool { fetching = false; return true })
			if answer.status == 409 {
				register()
			}
			failures++
			pause(failures, answer.wait)
			continue
		}
		failures, fetchID = 0, ""
		begin(answer.Jobs, count, sent)
		locked(func() bool { fetching = false; return true })
		if len(answer.Jobs) == 0 {
			time.Sleep(poll)
		}
	}
}

func begin(jobs []*Job, count int, sent time.Time) {
	mutex.Lock()
	room := min(count, len(jobs))
	if state != "running" {
		room = 0
	}
	trust := dead
	for _, job := range jobs[:room] {
		job.ends = make(chan struct{})
		held[job.ID] = job
		trust = min(trust, job.lease())
	}
	mutex.Unlock()
	// After a sleep past a lease, ask first which of the jobs are still held.
	for time.Since(sent) > trust {
		if asked := time.Now(); beat() {
			sent = asked
		} else {
			time.Sleep(beatEvery)
		}
	}
	for _, job := range jobs[:room] {
		select {
		case <-job.ends:
		default:
			go run(job)
		}
	}
	for _, job := range jobs[room:] {
		insist("nack", Object{"job_id": job.ID, "attempt": job.Attempt, "requeue": true})
	}
}

// Registers the worker, until the server has answered or has no such call.
func register() {
	for failures := 1; locked(func() bool { return endBy.IsZero() }); failures++ {
		answer := call("register", Object{"queues": queues, "concurrency": places})
		mutex.Lock()
		if answer.DeadS > 0 {
			dead = time.Duration(answer.DeadS * float64(time.Second))
		}
		if answer.LeaseS > 0 {
			lease = time.Duration(answer.LeaseS * float64(time.Second))
		}
		mutex.Unlock()
		if !answer.again() {
			return
		}
		pause(failures, answer.wait)
	}
}

func hear(signals <-chan os.Signal) {
	for each := range signals {
		mutex.Lock()
		switch each {
		case syscall.SIGTSTP:
			ownQuiet = true
		case syscall.SIGCONT:
			ownQuiet, toldQuiet = false, false
		default:
			if endings++; endings > 1 {
				os.Exit(128 + int(each.(syscall.Signal)))
			}
			end()
		}
		settleState()
		mutex.Unlock()
	}
}

// Sends BEATs at the interval, and one at once when the state changes.
func beatUntil(over func() bool) {
	due := time.Now()
	for !locked(over) {
		select {
		case <-beatNow:
			due = time.Now()
		case <-time.After(10 * time.Millisecond):
		}
		if !time.Now().Before(due) {
			due = time.Now().Add(beatEvery)
			beat()
		}
	}
}

func main() {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGTSTP, syscall.SIGCONT)
	go hear(signals)
	register()
	beat()
	go fetch()
	beatUntil(func() bool { return !endBy.IsZero() && len(beatNow) == 0 })
	beatUntil(func() bool { return len(held) == 0 && !fetching || time.Now().After(endBy) })
	code := 0
	mutex.Lock()
	state = "terminate"
	for _, job := range held {
		job.End("shutdown")
		code = 1
	}
	mutex.Unlock()
	for last := time.Now().Add(2 * time.Second); time.Now().Before(last); time.Sleep(10 * time.Millisecond) {
		if locked(func() bool { return len(held) == 0 }) {
			break
		}
	}
	beat()
	call("deregister", Object{})
	os.Exit(code)
}
