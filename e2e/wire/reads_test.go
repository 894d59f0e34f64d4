package wire_test

import "slices"

var reads = family{"reads", "Reads of one object, counts and tables, by each protocol.", slices.Concat(
	byEach("an object", "ResourceService/Get", `{"resource":"configmaps","namespace":"wire","name":"one"}`),
	[]exchange{
		get("an object", "ResourceService/Get", `{"resource":"configmaps","namespace":"wire","name":"one"}`),
		getProto("an object", "ResourceService/Get", `{"resource":"configmaps","namespace":"wire","name":"one"}`),
	},
	byEach("an object as JSON", "ResourceService/Get", `{"resource":"configmaps","namespace":"wire","name":"one","encoding":"ENCODING_JSON","fields":["metadata.labels","data"]}`),
	byEach("an object as protobuf", "ResourceService/Get", `{"resource":"configmaps","namespace":"wire","name":"one","encoding":"ENCODING_PROTOBUF","metadataOnly":true}`),
	byEach("an object of the API server", "ResourceService/Get", `{"resource":"configmaps","namespace":"wire","name":"one","consistency":"CONSISTENCY_LATEST"}`),
	byEach("a subresource", "ResourceService/Get", `{"resource":"pods","namespace":"wire","name":"logger","subresource":"status","fields":["spec.containers[*].image"]}`),
	byEach("a count", "ResourceService/Count", `{"resource":"configmaps","namespace":"wire","labelSelector":"app=wire","groupBy":["metadata.labels.tier"]}`),
	[]exchange{get("a count", "ResourceService/Count", `{"resource":"configmaps","namespace":"wire","labelSelector":"app=wire"}`)},
	byEach("a table", "ResourceService/GetTable", `{"resource":"configmaps","namespace":"wire","labelSelector":"app=wire"}`),
)}

var lists = family{"lists", "Lists and their pages, by each protocol.", slices.Concat(
	byEach("a list", "ResourceService/List", labeled),
	[]exchange{get("a list", "ResourceService/List", labeled), getProto("a list", "ResourceService/List", labeled)},
	byEach("a list as JSON in an order", "ResourceService/List", `{"resource":"configmaps","namespace":"wire","labelSelector":"app=wire","fields":["metadata.labels"],"encoding":"ENCODING_JSON","orderBy":"metadata.labels.tier, metadata.name desc"}`),
	byEach("a list as protobuf", "ResourceService/List", `{"resource":"configmaps","namespace":"wire","labelSelector":"app=wire","encoding":"ENCODING_PROTOBUF"}`),
	byEach("a list of the API server", "ResourceService/List", `{"resource":"configmaps","namespace":"wire","labelSelector":"app=wire","fields":["data"],"consistency":"CONSISTENCY_LATEST"}`),
	byEach("an empty list", "ResourceService/List", `{"resource":"configmaps","namespace":"wire","labelSelector":"app=none"}`),
	eachPage,
)}

// eachPage is each protocol's first page and the one after it.
var eachPage = func() (exchanges []exchange) {
	for _, p := range protocols {
		exchanges = append(exchanges,
			p.call("the first page of two", "ResourceService/List", `{"resource":"configmaps","namespace":"wire","labelSelector":"app=wire","fields":["metadata.labels"],"pageSize":2}`),
			p.call("the second page of two", "ResourceService/List", `{"resource":"configmaps","namespace":"wire","labelSelector":"app=wire","fields":["metadata.labels"],"pageSize":2,"pageToken":"<page token>"}`))
	}
	return append(exchanges, connectJSON.call("a page of another list", "ResourceService/List", `{"resource":"configmaps","namespace":"wire","pageToken":"<page token>"}`))
}()

const (
	labeled  = `{"resource":"configmaps","namespace":"wire","labelSelector":"app=wire","fields":["metadata.labels"]}`
	notFound = `{"resource":"configmaps","namespace":"wire","name":"none"}`
)

var conditional = family{"conditional", "Reads by GET with the tags of responses that the client has.", []exchange{
	get("a list", "ResourceService/List", labeled),
	get("the same list, with its tag", "ResourceService/List", labeled).with("If-None-Match: <etag>"),
	get("another list, with that tag", "ResourceService/List", `{"resource":"configmaps","namespace":"wire","labelSelector":"tier=db","fields":["metadata.labels"]}`).with("If-None-Match: <etag>"),
	get("the caller", "AccessService/WhoAmI", `{}`),
	get("the caller, with the tag of the response", "AccessService/WhoAmI", `{}`).with("If-None-Match: <etag without state>"),
	get("any tag", "ResourceService/List", labeled).with("If-None-Match: *"),
	get("an error", "ResourceService/Get", notFound).with("If-None-Match: <etag>"),
	connectJSON.call("a tag with POST", "ResourceService/List", labeled).with("If-None-Match: <etag>"),
}}
