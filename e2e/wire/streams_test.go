package wire_test

import "slices"

const (
	watched = `{"resource":"configmaps","namespace":"wire","labelSelector":"app=wire","fields":["metadata.labels"]}`
	touched = `{"resource":"configmaps","namespace":"wire","name":"touched","fields":["data"]}`
)

var streams = family{"streams", "Streams of changes, by each protocol: their first messages, a change, and how they end.", slices.Concat(
	until(1, byEach("a watch", "ResourceService/Watch", watched)...),
	until(1, byEach("a watch that resumes", "ResourceService/Watch", `{"resource":"configmaps","namespace":"wire","labelSelector":"app=wire","fields":["metadata.labels"],"resumeToken":"<resume token>"}`)...),
	eachChange,
	until(1, byEach("a live page", "ResourceService/Watch", `{"resource":"configmaps","namespace":"wire","labelSelector":"app=wire","fields":["metadata.labels"],"orderBy":"metadata.name desc","limit":2}`)...),
	eachOfSeveral,
	until(1, byEach("counts", "ResourceService/WatchCounts", `{"resource":"configmaps","namespace":"wire","labelSelector":"tier=web","groupBy":["metadata.labels.tier"]}`)...),
	byEach("a watch that is not possible", "ResourceService/Watch", `{"resource":"nothing"}`),
	byEach("a watch with an invalid selector", "ResourceService/Watch", `{"resource":"configmaps","labelSelector":"a in b"}`),
	until(1, byEach("an invalid resume token", "ResourceService/Watch", `{"resource":"configmaps","namespace":"wire","name":"one","fields":["metadata.labels"],"resumeToken":"none"}`)...),
	byEach("several watches, none possible", "ResourceService/WatchMany", `{}`),
)}

// eachChange is a watch of an object that changes when the watch has begun, by each protocol.
var eachChange = func() (exchanges []exchange) {
	for _, p := range protocols {
		e := p.call("a watch of an object that changes", "ResourceService/Watch", touched)
		e.messages = 2
		e.do = func(w *world) { w.write.Touch("touched", "changed by "+p.name) }
		exchanges = append(exchanges, e)
	}
	return exchanges
}()

// eachOfSeveral is a stream of a watch and counts, of which either can be first, by each protocol.
var eachOfSeveral = func() []exchange {
	exchanges := until(2, byEach("a watch and counts", "ResourceService/WatchMany", `{"watches":[{"resource":"configmaps","namespace":"wire","name":"one","fields":["metadata.labels"]}],"counts":[{"resource":"configmaps","namespace":"wire","labelSelector":"app=wire"}]}`)...)
	for i := range exchanges {
		exchanges[i].anyOrder = true
	}
	return exchanges
}()

var logs = family{"logs", "Logs of containers, by each protocol.", slices.Concat(
	byEach("a log", "PodService/GetLogs", log),
	eachOfLines,
	byEach("the log of no pod", "PodService/GetLogs", `{"namespace":"wire","name":"none"}`),
	byEach("lines with an invalid filter", "PodService/GetLogLines", `{"namespace":"wire","name":"logger","lineFilter":{"regex":"("}}`),
)}

// eachOfLines is a stream of lines, which come in one message or in several, by each protocol.
var eachOfLines = func() []exchange {
	exchanges := byEach("lines of logs", "PodService/GetLogLines", `{"namespace":"wire","name":"logger","lineFilter":{"contains":"line"}}`)
	for i := range exchanges {
		exchanges[i].merged = true
	}
	return exchanges
}()

var shutdown = family{"shutdown", "Streams that are open when the service shuts down.", []exchange{
	connectJSON.call("a watch", "ResourceService/Watch", watched).at(closing).doing(func(w *world) { w.stop(closing) }),
	grpc.call("a watch of health", "grpc.health.v1.Health/Watch", `{}`).at(ending).doing(func(w *world) { w.stop(ending) }),
}}
