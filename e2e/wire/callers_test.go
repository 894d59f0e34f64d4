package wire_test

import (
	"fmt"
	"slices"
	"strings"
)

// each adds lines to the header of each of some exchanges at a service.
func each(to service, exchanges []exchange, header ...string) []exchange {
	for i, e := range exchanges {
		exchanges[i] = e.at(to).with(header...)
	}
	return exchanges
}

const asJane, asJoe = "Authorization: Bearer <token of jane>", "Authorization: Bearer <token of joe>"

var callers = family{"callers", "Authentication, permissions, and IDs of requests.", slices.Concat(
	each(guarded, byEach("no token", "ResourceService/List", labeled)),
	each(guarded, byEach("no token for a stream", "ResourceService/Watch", watched)),
	each(guarded, byEach("an invalid token", "ResourceService/List", labeled), "Authorization: Bearer none"),
	each(guarded, byEach("a permitted list", "ResourceService/List", labeled), asJane),
	each(guarded, byEach("a forbidden list", "ResourceService/List", labeled), asJoe),
	each(guarded, byEach("a forbidden watch", "ResourceService/Watch", watched), asJoe),
	each(guarded, byEach("a forbidden change", "ResourceService/Delete", `{"resource":"configmaps","namespace":"wire","name":"one"}`), asJane),
	each(guarded, byEach("a forbidden log", "PodService/GetLogs", `{"namespace":"wire","name":"logger"}`), asJane),
	each(guarded, byEach("an object that does not exist", "ResourceService/Get", notFound), asJane),
	[]exchange{
		connectJSON.call("the caller", "AccessService/WhoAmI", `{}`).at(guarded).with(asJane),
		connectJSON.call("permissions", "AccessService/CheckAccess", `{"checks":[{"verb":"list","resource":"configmaps","namespace":"wire"},{"verb":"delete","resource":"configmaps","namespace":"wire"}]}`).at(guarded).with(asJane),
		connectJSON.call("no token, and an unknown member", "ResourceService/List", `{"resourc":"configmaps"}`).at(guarded),
		connectJSON.call("another scheme", "ResourceService/List", labeled).at(guarded).with("Authorization: Basic bm9uZQ=="),
		connectJSON.call("two tokens", "ResourceService/List", labeled).at(guarded).with(asJane, asJoe),
		get("without a token", "ResourceService/List", labeled).with(),
		{name: "a read by GET without a token", method: "GET", path: pathOf("ResourceService/List"), query: "connect=v1&encoding=json&message=" + labeled},
		connectJSON.call("an ID of a request", "ResourceService/Get", notFound).with("X-Request-Id: wire-1"),
		grpc.call("an ID of a request", "ResourceService/Get", notFound).with("X-Request-Id: wire-1"),
		connectJSON.call("an invalid ID of a request", "ResourceService/Get", notFound).with("X-Request-Id: not valid"),
		connectJSON.call("too many headers", "ResourceService/Get", notFound).with(headers(130)...),
	},
	byEach("a resource that does not exist", "ResourceService/List", `{"resource":"confgimaps"}`),
)}

func headers(count int) (lines []string) {
	for i := range count {
		lines = append(lines, fmt.Sprintf("X-%d: 1", i))
	}
	return lines
}

// preflight is the request of a browser before a call by a page of an origin.
func preflight(origin, method, headers string) exchange {
	return exchange{
		name: "a preflight of " + method + " with " + headers + " by " + origin, to: guarded, method: "OPTIONS", path: pathOf("ResourceService/List"),
		header: []string{"Origin: " + origin, "Access-Control-Request-Method: " + method, "Access-Control-Request-Headers: " + headers},
	}
}

var pages = family{"pages", "Calls by pages of browsers.", []exchange{
	preflight(listedOrigin, "POST", "authorization,connect-protocol-version,content-type"),
	preflight(listedOrigin, "POST", "authorization,content-type,grpc-timeout,x-grpc-web,x-user-agent"),
	preflight(listedOrigin, "GET", "authorization"),
	preflight(listedOrigin, "DELETE", "authorization"),
	preflight(listedOrigin, "POST", "x-unknown"),
	preflight("https://none.example.com", "POST", "content-type"),
	connectJSON.call("a listed page", "ResourceService/List", labeled).at(guarded).with(asJane, "Origin: "+listedOrigin, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors"),
	grpcWeb.call("a listed page", "ResourceService/List", labeled).at(guarded).with(asJane, "Origin: "+listedOrigin, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors"),
	grpcWeb.call("a listed page without a token", "ResourceService/List", labeled).at(guarded).with("Origin: "+listedOrigin, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors"),
	connectJSON.call("a listed page, not by CORS", "ResourceService/List", labeled).at(guarded).with(asJane, "Origin: "+listedOrigin, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"),
	connectJSON.call("another page", "ResourceService/List", labeled).at(guarded).with(asJane, "Origin: https://none.example.com", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors"),
	get("another page", "ResourceService/List", labeled).with("Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"),
	connectJSON.call("a page of the service", "ResourceService/List", labeled).with("Sec-Fetch-Site: same-origin"),
	{name: "options without CORS", method: "OPTIONS", path: pathOf("ResourceService/List")},
	{name: "options of a listed service", to: guarded, method: "OPTIONS", path: pathOf("ResourceService/List")},
}}

// questions is a request for n permissions.
func questions(n int) string {
	return `{"checks":[` + strings.TrimSuffix(strings.Repeat(`{"verb":"get","resource":"configmaps"},`, n), ",") + `]}`
}

// limits has the exchange that is rejected first: while a stream is open, others are rejected for another
// reason.
var limits = family{"limits", "Callers above their limits: one stream, and 100 calls at once.", slices.Concat(
	each(limited, []exchange{
		connectJSON.call("more watches than streams are allowed", "ResourceService/WatchMany", `{"watches":[{"resource":"configmaps","namespace":"wire","name":"one"},{"resource":"configmaps","namespace":"wire","name":"two"}]}`),
		oneStream(),
		connectJSON.call("60 questions", "AccessService/CheckAccess", questions(60)),
	}, asJane),
	each(limited, byEach("100 questions", "AccessService/CheckAccess", questions(100)), asJane),
)}

// oneStream is a stream, and others that are rejected while it is open.
func oneStream() exchange {
	e := connect.call("a stream, and others while it is open", "ResourceService/Watch", watched)
	e.messages, e.meanwhile = 1, each(limited, byEach("one stream more", "ResourceService/Watch", watched), asJane)
	return e
}
