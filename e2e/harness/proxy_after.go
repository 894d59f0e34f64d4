package harness

// scheduledFault is a fault that begins after a number of forwarded bytes.
type scheduledFault struct {
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
	p.scheduledFault = &scheduledFault{fault: fault, left: bytes, begun: make(chan struct{})}
	return p.scheduledFault.begun
}

// allow returns how many of the given number of bytes may be forwarded before the scheduled fault
// begins. If that is 0, the fault begins now.
func (p *Proxy) allow(bytes int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.scheduledFault == nil {
		return bytes
	}
	bytes = min(bytes, p.scheduledFault.left)
	p.scheduledFault.left -= bytes
	if bytes == 0 {
		close(p.scheduledFault.begun)
		p.setLocked(p.scheduledFault.fault)
	}
	return bytes
}
