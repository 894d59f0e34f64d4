package monitoring

// Row is a row of the dashboard.
type Row struct {
	Title  string
	Panels []Panel
}

// Panel is a diagram of the dashboard, or a number if it is single. The description says what a
// reader has to look for.
type Panel struct {
	Title, Description, Unit string
	Single                   bool
	Queries                  []Query
}

// Query is one expression of a panel. [selected] stands for the selected replicas.
type Query struct{ Expr, Legend string }

// Rows are the rows of the dashboard, in their order: a reader begins with the health of the
// service, and finds the reason in the rows below.
var Rows = []Row{health, load, streams, caches, limits, reviews, process}

var health = Row{"Health", []Panel{
	single("Firing alerts", "The alerts of the service. docs/operations.md has a section for each.", "short",
		`count(ALERTS{alertname=~"Kubeconnect.*",alertstate="firing",namespace=~"$namespace"}) or vector(0)`),
	single("Replicas", "Replicas that are scraped.", "short", `sum(up{[selected]})`),
	single("Stale resources", "Resources that are stale at a replica, because it has lost the API server or cannot read them.", "short",
		`count(max by (resource) (kubeconnect_cache_stale{[selected]}) == 1) or vector(0)`),
	single("Calls", "Calls and streams that ended.", "reqps", `sum(rate(kubeconnect_calls_total{[selected]}[$__rate_interval]))`),
	single("Failed calls", "The share of the calls that failed because of the service or the API server.", "percentunit",
		`sum(rate(kubeconnect_calls_total{[selected],code=~"unavailable|internal|unknown|data_loss"}[$__rate_interval]))
/ sum(rate(kubeconnect_calls_total{[selected]}[$__rate_interval])) or vector(0)`),
	single("Open streams", "", "short", `sum(kubeconnect_streams{[selected]})`),
	single("Oldest response", "The maximum age of what a read can return.", "s",
		`max(time() - kubeconnect_cache_last_contact_timestamp_seconds{[selected]} and kubeconnect_cache_synced{[selected]} == 1)`),
	{Title: "Version", Description: "The versions of the replicas.", Unit: "short", Single: true, Queries: []Query{
		{`count by (version, revision) (kubeconnect_build_info{[selected]})`, "{{version}} {{revision}}"},
	}},
}}

var load = Row{"Load", []Panel{
	diagram("Calls by procedure", "Calls and streams that ended. A stream is counted when it ends.", "reqps",
		Query{`sum by (procedure) (rate(kubeconnect_calls_total{[selected]}[$__rate_interval]))`, "{{procedure}}"}),
	diagram("Calls by resource", "The ten resources with the most calls.", "reqps",
		Query{`topk(10, sum by (resource) (rate(kubeconnect_resource_calls_total{[selected]}[$__rate_interval])))`, "{{resource}}"}),
	diagram("Calls that did not succeed", "canceled: the client closed the stream, which is normal.", "reqps",
		Query{`sum by (code) (rate(kubeconnect_calls_total{[selected],code!="ok"}[$__rate_interval]))`, "{{code}}"}),
	diagram("Duration", "Half of the calls, and all but one in a hundred, took no longer. Reads from the cache take milliseconds.", "s",
		Query{`histogram_quantile(0.5, sum by (le) (rate(kubeconnect_call_duration_seconds_bucket{[selected]}[$__rate_interval])))`, "half"},
		Query{`histogram_quantile(0.99, sum by (le) (rate(kubeconnect_call_duration_seconds_bucket{[selected]}[$__rate_interval])))`, "99 %"}),
	diagram("Duration by procedure", "All but one in a hundred calls took no longer.", "s",
		Query{`histogram_quantile(0.99, sum by (le, procedure) (rate(kubeconnect_call_duration_seconds_bucket{[selected]}[$__rate_interval])))`, "{{procedure}}"}),
	diagram("Sent by procedure", "Bytes of responses, those of open streams included.", "Bps",
		Query{`sum by (procedure) (rate(kubeconnect_sent_bytes_total{[selected]}[$__rate_interval]))`, "{{procedure}}"}),
	diagram("Sent by resource", "The ten resources with the most bytes.", "Bps",
		Query{`topk(10, sum by (resource) (rate(kubeconnect_sent_bytes_total{[selected]}[$__rate_interval])))`, "{{resource}}"}),
}}

var streams = Row{"Streams", []Panel{
	diagram("Open streams", "By replica. They move when a replica ends, and at --max-stream-age.", "short",
		Query{`sum by (instance) (kubeconnect_streams{[selected]})`, "{{instance}}"}),
	diagram("Open streams by procedure", "", "short",
		Query{`sum by (procedure) (kubeconnect_streams{[selected]})`, "{{procedure}}"}),
	diagram("Watches by resource", "The ten resources with the most open watches.", "short",
		Query{`topk(10, sum by (resource) (kubeconnect_cache_watchers{[selected]}))`, "{{resource}}"}),
	diagram("Events by resource", "The ten resources with the most events sent, those of snapshots and bookmarks included.", "ops",
		Query{`topk(10, sum by (resource) (rate(kubeconnect_sent_events_total{[selected]}[$__rate_interval])))`, "{{resource}}"}),
	diagram("Delay", "From when the service has received a change until it has sent it.", "s",
		Query{`histogram_quantile(0.5, sum by (le) (rate(kubeconnect_watch_delay_seconds_bucket{[selected]}[$__rate_interval])))`, "half"},
		Query{`histogram_quantile(0.99, sum by (le) (rate(kubeconnect_watch_delay_seconds_bucket{[selected]}[$__rate_interval])))`, "99 %"}),
	diagram("Clients that do not read", "Calls and streams whose client has not read for a second what is being sent. /admin shows which.", "short",
		Query{`sum by (instance) (kubeconnect_unread_calls{[selected]})`, "{{instance}}"}),
	diagram("How watches begin", "reset: a client that has resumed got all objects again. Many are a sign of lost history.", "ops",
		Query{`sum by (began_with) (rate(kubeconnect_cache_watches_total{[selected]}[$__rate_interval]))`, "{{began_with}}"}),
	diagram("Interrupted streams", "Streams that ended with an error of the service. StreamMoved is among them.", "ops",
		Query{`sum by (procedure) (rate(kubeconnect_calls_total{[selected],code=~"unavailable|internal|unknown|data_loss"}[$__rate_interval]) and ignoring (code) kubeconnect_streams{[selected]})`, "{{procedure}}"}),
	diagram("Window", "How long a watch may be interrupted and continue with each step.", "s",
		Query{`min by (resource) (kubeconnect_cache_window_seconds{[selected]})`, "{{resource}}"}),
}}

var caches = Row{"Caches", []Panel{
	diagram("Stale", "1 while a resource is stale at a replica. All at once: the API server is away.", "short",
		Query{`max by (resource) (kubeconnect_cache_stale{[selected]})`, "{{resource}}"}),
	diagram("Age", "The time since the last confirmed contact with the API server.", "s",
		Query{`max by (resource) (time() - kubeconnect_cache_last_contact_timestamp_seconds{[selected]} and kubeconnect_cache_synced{[selected]} == 1)`, "{{resource}}"}),
	diagram("Objects", "", "short", Query{`max by (resource) (kubeconnect_cache_objects{[selected]})`, "{{resource}}"}),
	diagram("Memory of objects", "Without indexes and history.", "bytes", Query{`max by (resource) (kubeconnect_cache_bytes{[selected]})`, "{{resource}}"}),
	diagram("Relists", "Each costs the API server a list of all objects.", "short",
		Query{`sum by (resource) (increase(kubeconnect_cache_relists_total{[selected]}[$__rate_interval]))`, "{{resource}}"}),
	diagram("Running lists", "The time since a list began that has not ended, at the slowest replica; 0 if none is running.", "s",
		Query{`max by (resource) ((time() - kubeconnect_cache_relisting_since_timestamp_seconds{[selected]}) * (kubeconnect_cache_relisting_since_timestamp_seconds{[selected]} > bool 0))`, "{{resource}}"}),
}}

var limits = Row{"Limits", []Panel{
	diagram("Rejected calls", "By the limit. docs/operations.md describes how to find the caller.", "reqps",
		Query{`sum by (limit) (rate(kubeconnect_limited_calls_total{[selected]}[$__rate_interval]))`, "{{limit}}"}),
	diagram("Use of bounded resources", "The share of the capacity, at the replica with the highest.", "percentunit",
		Query{`max by (queue) (kubeconnect_queue_held{[selected]} / kubeconnect_queue_capacity{[selected]})`, "{{queue}}"}),
	diagram("Waiting calls", "Calls and streams that wait for a bounded resource.", "short",
		Query{`sum by (queue) (kubeconnect_queue_waiting{[selected]})`, "{{queue}}"}),
	diagram("Memory of live pages and counts", "A part of the queue kept_bytes.", "bytes",
		Query{`max by (instance) (kubeconnect_follower_bytes{[selected]})`, "{{instance}}"}),
}}

var reviews = Row{"Reviews of callers", []Panel{
	diagram("Reviews", "TokenReviews and SubjectAccessReviews at the API server.", "reqps",
		Query{`sum by (review) (rate(kubeconnect_auth_reviews_total{[selected]}[$__rate_interval]))`, "{{review}}"}),
	diagram("Failed and rejected reviews", "rejected: the queue was full.", "reqps",
		Query{`sum by (review) (rate(kubeconnect_auth_review_failures_total{[selected]}[$__rate_interval]))`, "{{review}} failed"},
		Query{`sum by (review) (rate(kubeconnect_auth_review_rejections_total{[selected]}[$__rate_interval]))`, "{{review}} rejected"}),
	diagram("Duration of reviews", "The average at the API server, and the average wait for a slot before.", "s",
		Query{`sum by (review) (rate(kubeconnect_auth_review_seconds_total{[selected]}[$__rate_interval])) / sum by (review) (rate(kubeconnect_auth_reviews_total{[selected]}[$__rate_interval]))`, "{{review}}"},
		Query{`sum by (review) (rate(kubeconnect_auth_review_wait_seconds_total{[selected]}[$__rate_interval])) / sum by (review) (rate(kubeconnect_auth_reviews_total{[selected]}[$__rate_interval]))`, "{{review}} waits"}),
	diagram("Waiting reviews", "", "short",
		Query{`sum by (review) (kubeconnect_auth_reviews_waiting{[selected]})`, "{{review}}"}),
	diagram("Decisions from the cache", "The share that needed no review.", "percentunit",
		Query{`sum by (review) (rate(kubeconnect_auth_cache_hits_total{[selected]}[$__rate_interval]))
/ (sum by (review) (rate(kubeconnect_auth_cache_hits_total{[selected]}[$__rate_interval])) + sum by (review) (rate(kubeconnect_auth_reviews_total{[selected]}[$__rate_interval])))`, "{{review}}"}),
}}

var process = Row{"Process", []Panel{
	diagram("Memory", "needed is what garbage collection could not free. Raise the limit when it is above 80 % of it.", "bytes",
		Query{`max(kubeconnect_memory_needed_bytes{[selected]})`, "needed"},
		Query{`max(process_resident_memory_bytes{[selected]})`, "resident"},
		Query{`min(kubeconnect_memory_limit_bytes{[selected]})`, "limit"}),
	diagram("Time over the memory limit", "The share of the time.", "percentunit",
		Query{`max by (reason) (rate(kubeconnect_memory_limit_exceeded_seconds_total{[selected]}[$__rate_interval]))`, "{{reason}}"}),
	diagram("Processors", "", "short",
		Query{`sum by (instance) (rate(process_cpu_seconds_total{[selected]}[$__rate_interval]))`, "{{instance}}"}),
	diagram("Goroutines", "About three for each stream.", "short",
		Query{`max by (instance) (go_goroutines{[selected]})`, "{{instance}}"}),
	diagram("Open files", "Connections are among them.", "short",
		Query{`max by (instance) (process_open_fds{[selected]})`, "{{instance}}"}),
	diagram("Certificate", "The time until the first certificate expires; 0 without TLS.", "s",
		Query{`min((kubeconnect_certificate_expiry_timestamp_seconds{[selected]} - time()) * (kubeconnect_certificate_expiry_timestamp_seconds{[selected]} > bool 0))`, "left"}),
	diagram("Audit log", "Events, with --audit-log.", "reqps",
		Query{`sum(rate(kubeconnect_audit_written_events_total{[selected]}[$__rate_interval]))`, "written"},
		Query{`sum(rate(kubeconnect_audit_lost_events_total{[selected]}[$__rate_interval]))`, "lost"},
		Query{`sum(rate(kubeconnect_audit_write_failures_total{[selected]}[$__rate_interval]))`, "failed writes"}),
	diagram("Restarts", "Processes that have started in the same pod.", "short",
		Query{`sum by (instance) (changes(process_start_time_seconds{[selected]}[$__rate_interval]))`, "{{instance}}"}),
}}

// Queries returns the queries of all panels.
func Queries() (all []Query) {
	for _, row := range Rows {
		for _, panel := range row.Panels {
			all = append(all, panel.Queries...)
		}
	}
	return all
}

func single(title, description, unit, expr string) Panel {
	return Panel{title, description, unit, true, []Query{{expr, ""}}}
}

func diagram(title, description, unit string, queries ...Query) Panel {
	return Panel{title, description, unit, false, queries}
}
