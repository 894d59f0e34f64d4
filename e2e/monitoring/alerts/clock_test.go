package alerts_test

import (
	"math"
	"strings"
	"time"
)

const (
	// scrapeInterval is the time between two scrapes, and stretch the factor by which the recorded
	// time runs faster, so that an alert which holds for five minutes needs five seconds. Recorded
	// scrapes are 15 seconds apart, as with Prometheus.
	scrapeInterval = 250 * time.Millisecond
	stretch        = 60
)

// stretchedClock maps the time of a test to the recorded time, which runs faster. They are equal
// when the clock starts.
type stretchedClock struct{ began time.Time }

func (c stretchedClock) at(moment time.Time) time.Time {
	return c.began.Add(moment.Sub(c.began) * stretch)
}

// value returns the value of a metric at a time that runs faster. Times, and numbers of seconds
// that were counted, are stretched. Everything else stays as it was scraped: the same number of
// events is counted in a longer time.
func (c stretchedClock) value(metric string, value float64) float64 {
	switch {
	case value == 0:
		return 0
	case strings.HasSuffix(metric, "_timestamp_seconds"), metric == "process_start_time_seconds":
		began := float64(c.began.UnixNano()) / float64(time.Second)
		return math.FMA(value-began, stretch, began)
	case strings.HasSuffix(metric, "_seconds_total"):
		return value * stretch
	}
	return value
}
