package harness

// coming is a fault that begins when so many bytes more have been passed on.
type coming struct {
	fault Fault
	left  int
	begun chan struct{}
}

// SetAfter is Set when so many bytes more have been passed on, in whatever direction: so
// a fault begins amid a message. What it answers is closed then. A Set before that
// calls it off.
func (p *Proxy) SetAfter(bytes int, fault Fault) (begun <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.coming = &coming{fault: fault, left: bytes, begun: make(chan struct{})}
	return p.coming.begun
}

// allow is how many of some bytes may be passed on before a fault begins. If none may,
// it begins now.
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
