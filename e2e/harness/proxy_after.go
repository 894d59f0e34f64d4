package harness

// coming is a fault that begins after a number of forwarded bytes.
type coming struct {
	fault Fault
	left  int
	begun chan struct{}
}

// SetAfter schedules a fault that begins after bytes more bytes have been forwarded, in either
// direction, so that it can begin inside a message. The returned channel is closed when the fault
// begins. A Set before that cancels it.
func (p *Proxy) SetAfter(bytes int, fault Fault) (begun <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.coming = &coming{fault: fault, left: bytes, begun: make(chan struct{})}
	return p.coming.begun
}

// allow returns how many of the given number of bytes may be forwarded before the scheduled fault
// begins. If that is 0, the fault begins now.
func (p *Proxy) allow(bytes int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.coming == nil {
		return bytes
	}
	bytes = min(bytes, p.coming.left)
	p.coming.left -= bytes
	if bytes == 0 {
		close(p.coming.begun)
		p.setLocked(p.coming.fault)
	}
	return bytes
}
