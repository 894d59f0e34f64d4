package logging

// Failures decides which errors of something that is repeated are logged: an error that occurred twice in a
// row, because files are replaced one after the other, and that has not been logged yet. The zero value is
// ready to use.
type Failures struct {
	last string
	seen int
}

// ShouldLog reports whether an error is logged; nil ends a row of failures. It is not safe for concurrent use.
func (f *Failures) ShouldLog(err error) bool {
	switch {
	case err == nil:
		*f = Failures{}
		return false
	case err.Error() != f.last:
		*f = Failures{last: err.Error()}
	}
	f.seen++
	return f.seen == 2
}
