package fairqueue

// SetPerKey changes the weight that one key can hold at a time; less than 1 is Limits.Total. Keys that
// hold more keep it, and acquire nothing until they hold less.
func (q *Queue) SetPerKey(limit int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if limit < 1 || limit > q.limits.Total {
		limit = q.limits.Total
	}
	q.limits.PerKey = limit
	for s := range q.waiting {
		for element := s.waiters.Front(); element != nil; element = element.Next() {
			w := element.Value.(*waiter)
			w.weight = min(w.weight, limit) // a larger one would wait forever
		}
	}
	q.grantLocked()
}

// weightLocked returns the weight that an acquisition counts as.
func (q *Queue) weightLocked(weight int64) int64 { return min(max(weight, 0), q.limits.PerKey) }
