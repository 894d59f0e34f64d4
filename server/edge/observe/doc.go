// Package observe makes the service observable: [Metrics] counts calls, streams and bounded resources, [CallLog]
// logs calls that have ended, and [Usage] knows who uses the service and which calls are open. [NewCollector] and
// [NewTotals] read the statistics of caches and reviews, which informerhub and auth keep without Prometheus.
//
// [Metrics.CountCalls] is the interceptor around all others but the gates. [Metrics.Begin] is called for each
// request for a procedure, gates call [Metrics.Refused] for calls that they reject, and [Metrics.NoteUnreadable] counts requests that
// connect has answered itself. Metrics name no object, namespace or caller.
//
//	metrics := observe.NewMetrics()
//	queue := metrics.Queue("some_bytes", fairqueue.New(limits))
//
// The package imports call, callerrors and health, and limits nothing.
package observe
