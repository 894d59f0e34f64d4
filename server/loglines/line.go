package loglines

import "time"

// MaxLineBytes is the length at which a line is cut.
const MaxLineBytes = 64 << 10

// Position is the place of a line in the log of a container. The zero value is before all lines.
type Position struct {
	// Time is the time at which the node recorded the line; zero if it did not.
	Time time.Time
	// Ordinal is the number of lines with this time up to the line, itself included.
	Ordinal int
}

// IsAfter reports whether the position is later than another one of the same log.
func (p Position) IsAfter(other Position) bool {
	if p.Time.Equal(other.Time) {
		return p.Ordinal > other.Ordinal
	}
	return p.Time.After(other.Time)
}

// Line is a line of a log, or a part of a longer line.
type Line struct {
	Position
	Text []byte // without the line end
	// Cut reports that the line is longer than MaxLineBytes, and that the next line is its rest.
	Cut bool
	// Context reports that the line is sent only because a line near it matches the filter.
	Context bool
	// Gap reports that lines before it were omitted. It is set only if the filter has context.
	Gap bool
}
