package logging

import (
	"log"
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	// connectionLogInterval is the interval in which at most connectionLogBurst lines about connections
	// are logged. The number of the others is logged at its end.
	connectionLogInterval = 10 * time.Second
	connectionLogBurst    = 10
	// maxForeignText is the maximum length of a text in the log that a client or a collector determines.
	maxForeignText = 256
	// maxPanicText is the maximum length of the text about a panic, with its stack.
	maxPanicText = 16 << 10
)

// connectionLog logs what net/http reports about connections, such as TLS handshakes that fail. Clients
// without a credential cause such lines, as many and as long as they want: therefore both are bounded.
// It is safe for concurrent use.
type connectionLog struct {
	mu    sync.Mutex // guards lines
	lines int        // of this interval
}

// NewConnectionLog returns a logger for servers of net/http.
func NewConnectionLog() *log.Logger { return log.New(&connectionLog{}, "", 0) }

// Write implements io.Writer. net/http writes each line at once.
func (l *connectionLog) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	switch {
	case strings.HasPrefix(text, "http: panic serving"), strings.HasPrefix(text, "http2: panic serving"):
		slog.Error(cutTo(maxPanicText, text)) // a fault of the service
	case l.admits():
		slog.Info(Shortened(text))
	}
	return len(line), nil
}

func (l *connectionLog) admits() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lines == 0 {
		time.AfterFunc(connectionLogInterval, l.summarize)
	}
	l.lines++
	return l.lines <= connectionLogBurst
}

// summarize logs how many lines were not logged, and begins the next interval.
func (l *connectionLog) summarize() {
	l.mu.Lock()
	lines := l.lines
	l.lines = 0
	l.mu.Unlock()
	if lines > connectionLogBurst {
		slog.Warn("more connections failed", "lines", lines-connectionLogBurst, "seconds", connectionLogInterval.Seconds())
	}
}

// Shortened returns a text that a client or a collector determines, as it is logged.
func Shortened(text string) string { return cutTo(maxForeignText, text) }

func cutTo(limit int, text string) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
