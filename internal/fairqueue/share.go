package fairqueue

// TryShare acquires like TryAcquire, for weight that is held for an unlimited time: a key gets no
// more than the capacity that it leaves free. So a single key holds at most half of the total, n
// keys with their maximum hold 1/(n+1) of it each, and some capacity is always left for another
// key.
func (q *Queue) TryShare(key string, weight int64) (release func(), ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	weight = q.weightLocked(weight)
	s := q.shareLocked(key)
	if free := q.limits.Total - q.held - weight; s.held+weight > free || !q.fitsLocked(s, weight) {
		q.evictLocked(s)
		return nil, false
	}
	q.holdLocked(s, weight)
	return q.releaser(key, weight), true
}
