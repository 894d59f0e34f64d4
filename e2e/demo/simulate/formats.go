package simulate

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// LogAnnotation names the format of a pod's logs: a key of formats.
const LogAnnotation = "demo.kubeconnect.dev/log"

// message is a message of a program.
type message struct {
	level string // debug, info, warn, error or fatal
	text  string
}

// format is how a program logs, and what.
type format struct {
	text     func(at time.Time, message message, random *rand.Rand) string
	messages []message // what it usually says
	troubles []message // what it says now and then
	fatal    message   // the last message of a program that fails
}

var formats = map[string]format{
	"json": {
		text: jsonLine,
		messages: []message{
			{"info", "GET /products 200"}, {"info", "GET /cart 200"}, {"info", "POST /cart/items 201"},
			{"info", "GET /search?q=lamp 200"}, {"info", "order accepted"}, {"debug", "cache hit for product 18233"},
		},
		troubles: []message{
			{"warn", "slow query: 1204 ms"}, {"warn", "retrying payment provider, attempt 2 of 3"},
			{"error", "POST /checkout 502: upstream connect error"},
		},
		fatal: message{"fatal", "cannot start"},
	},
	"logfmt": {
		text: logfmtLine,
		messages: []message{
			{"info", "entry booked"}, {"info", "invoice rendered"}, {"info", "connected to postgres.data.svc:5432"},
			{"debug", "batch of 50 entries read"},
		},
		troubles: []message{{"warn", "entry has no reference"}, {"error", "cannot book entry: serialization failure"}},
		fatal:    message{"fatal", "cannot start: migrations failed"},
	},
	"klog": {
		text: klogLine,
		messages: []message{
			{"info", `"Reconciled" controller="routes" duration="12.4ms"`}, {"info", `"Scraped targets" count=48`},
			{"info", `"Lease renewed" lease="platform/leader"`},
		},
		troubles: []message{
			{"warn", `"Queue is long" depth=214`},
			{"error", `"Cannot scrape target; retrying" err="context deadline exceeded" target="10.128.0.17:9090"`},
		},
		fatal: message{"fatal", `"Cannot start" err="permission denied"`},
	},
	"postgres": {
		text: postgresLine,
		messages: []message{
			{"info", "checkpoint complete: wrote 812 buffers (5.0%)"}, {"info", "connection authorized: user=ledger database=ledger"},
			{"info", "automatic vacuum of table \"ledger.public.entries\": index scans: 1"},
		},
		troubles: []message{
			{"warn", "there is already a transaction in progress"},
			{"error", "deadlock detected"},
		},
		fatal: message{"fatal", "the database system is shutting down"},
	},
}

// formatOf returns the format with a name, and JSON for pods that name none.
func formatOf(name string) format {
	if known, found := formats[name]; found {
		return known
	}
	return formats["json"]
}

func jsonLine(at time.Time, message message, random *rand.Rand) string {
	return fmt.Sprintf(`{"time":%q,"level":%q,"msg":%q,"durationMs":%d,"trace":"%016x"}`,
		at.UTC().Format(time.RFC3339Nano), message.level, message.text, 1+random.IntN(180), random.Uint64())
}

func logfmtLine(at time.Time, message message, random *rand.Rand) string {
	return fmt.Sprintf(`time=%s level=%s msg=%q entry=%d`,
		at.UTC().Format(time.RFC3339), message.level, message.text, 100000+random.IntN(900000))
}

func klogLine(at time.Time, message message, random *rand.Rand) string {
	severity := map[string]string{"debug": "I", "info": "I", "warn": "W", "error": "E", "fatal": "F"}[message.level]
	return fmt.Sprintf("%s%s       1 controller.go:%d] %s",
		severity, at.UTC().Format("0102 15:04:05.000000"), 40+random.IntN(200), message.text)
}

func postgresLine(at time.Time, message message, random *rand.Rand) string {
	severity := map[string]string{"debug": "DEBUG", "info": "LOG", "warn": "WARNING", "error": "ERROR", "fatal": "FATAL"}[message.level]
	return fmt.Sprintf("%s UTC [%d] %s:  %s", at.UTC().Format("2006-01-02 15:04:05.000"), 60+random.IntN(40), severity, message.text)
}
