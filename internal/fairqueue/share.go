package fairqueue

// TryShare is TryAcquire for what is held as long as its holder likes: a key gets no more than it
// leaves free. So a key alone holds half of the total at most, n keys that take what they can hold
// 1/(n+1) of it each, and there is always some for one more.
func (q *Queue) TryShare(key string, weight int64) (release func(), ok bool) {
	weight = min(max(weight, 0), q.limits.PerKey)
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.shareLocked(key)
	if free := q.limits.Total - q.held - weight; s.held+weight > free || !q.fitsLocked(s, weight) {
		q.forgetLocked(key, s)
		return nil, false
	}
	q.holdLocked(s, weight)
	return q.releaser(key, weight), true
}
